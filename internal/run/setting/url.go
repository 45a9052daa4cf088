package setting

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// URL is a URL that can hold a password or a token. It prints as scheme and host, and that of a database with its name.
type URL struct {
	Secret
	reload func() (URL, error) // nil: not from a file
}

// FromFile reports whether the URL was read from a file.
func (u URL) FromFile() bool { return u.reload != nil }

// Reload reads the URL's file again, so that a password can be replaced while the program runs. A URL that is not from
// a file returns itself.
func (u URL) Reload() (URL, error) {
	if u.reload == nil {
		return u, nil
	}
	return u.reload()
}

// reloadable returns a value that is from a file with a function that reads it again, if it is a URL or several.
func reloadable(value any, again func() (any, error)) any {
	switch value := value.(type) {
	case URL:
		value.reload = func() (URL, error) {
			now, err := again()
			u, _ := now.(URL)
			return u, err
		}
		return value

	case []URL:
		for i := range value {
			value[i].reload = func() (URL, error) {
				now, err := again()
				if urls, _ := now.([]URL); len(urls) == len(value) {
					return urls[i], err
				}
				return URL{}, cmp.Or(err, errors.New("the file has another number of URLs than before: restart the program"))
			}
		}
	}
	return value
}

// NewNATSURL parses the URL of a NATS server, or several separated by commas. It refuses what follows the host: it is
// the rest of a password or a token that has an unencoded "/", "?" or "#".
func NewNATSURL(text string) (URL, error) {
	var shown []string
	for server := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) ||
			u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
			return URL{}, errors.New("is not the URL of a NATS server: write nats://host:4222, separate several by commas, " +
				"and encode special characters of a password or token as %XX")
		}
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return URL{Secret: Secret{&text, strings.Join(shown, ",")}}, nil
}

// NewPostgresURL parses the URL of a PostgreSQL database. It discards the errors of pgx, which can quote a part of the
// password, except for the path of a file.
func NewPostgresURL(text string) (URL, error) {
	malformed := errors.New("is not the URL of a database: write postgres://user:password@host:5432/database, " +
		"and encode special characters of the password as %XX")
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "postgres" && scheme != "postgresql" {
		return URL{}, malformed
	}

	// pgx, which also accepts several hosts, ends the user and the password at the first "@" before any "/". Another
	// "@", or a "?" before it, shows that one of these is not encoded. A part of the password would then be taken for
	// the host, the database or the query.
	var user string
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		user, rest = rest[:i], rest[i+1:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	if strings.Contains(user, "?") || strings.Contains(rest, "@") {
		return URL{}, malformed
	}

	_, err := pgconn.ParseConfig(text)
	var unreadable *fs.PathError
	switch {
	case errors.As(err, &unreadable):
		return URL{}, fmt.Errorf("names a file that can't be read, itself or with a variable PG*: %w", unreadable)
	case err != nil:
		return URL{}, fmt.Errorf("%w; or correct the variables PG*, such as PGSSLMODE", malformed)
	}
	host, database, _ := strings.Cut(rest, "/")
	return URL{Secret: Secret{&text, "postgres://" + host + "/" + database}}, nil
}

// Secret is text that does not print: something else is shown. The text is behind a pointer: for a Secret in an
// unexported field fmt can't call the methods and prints the address.
type Secret struct {
	text  *string
	shown string // instead of the text
}

// NewSecret returns a secret that holds the text.
func NewSecret(text string) Secret { return Secret{&text, "[secret]"} }

// Reveal returns the text, or an empty one for the zero value.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns what is shown instead of the text.
func (s Secret) String() string { return s.shown }

// Format prints String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.shown) }

// MarshalText writes String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.shown), nil }
