package setting

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"callboard/readapi/audio"
)

// URL is a URL that can hold a password or a token. It prints as scheme and host, and that of a database with its name.
type URL struct {
	whole  Secret
	shown  string
	reload func() (URL, error) // nil: not from a file
}

// Reveal returns the whole URL, or an empty text for the zero value.
func (u URL) Reveal() string { return u.whole.Reveal() }

// FromFile reports whether the URL was read from a file.
func (u URL) FromFile() bool { return u.reload != nil }

// Reload reads the URL's file again, so that a password can be replaced while the program runs. A URL that is not from a file returns
// itself.
func (u URL) Reload() (URL, error) {
	if u.reload == nil {
		return u, nil
	}
	return u.reload()
}

// withReload returns the URL with a function that reads it again.
func (u URL) withReload(reload func() (URL, error)) URL {
	u.reload = reload
	return u
}

// String returns the URL without user, password and query.
func (u URL) String() string { return u.shown }

// Format prints String for every verb.
func (u URL) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.shown) }

// MarshalText writes String.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.shown), nil }

// NewNATSURL parses one URL, or several separated by commas.
func NewNATSURL(text string) (URL, error) { return natsURLParser{}.Parse(text) }

// NewPostgresURL parses the URL of a database.
func NewPostgresURL(text string) (URL, error) { return postgresURLParser{}.Parse(text) }

// NATSURL is the setting of the NATS servers.
type NATSURL = Value[URL, natsURLParser]

type natsURLParser struct{}

// Parse implements [Parser]. It refuses what follows the host: it is the rest of a password or a token that has an unencoded "/", "?" or "#".
func (natsURLParser) Parse(text string) (URL, error) {
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
	return URL{whole: NewSecret(text), shown: strings.Join(shown, ",")}, nil
}

// PostgresURL is the setting of a PostgreSQL database.
type PostgresURL = Value[URL, postgresURLParser]

type postgresURLParser struct{}

// Parse implements [Parser]. It discards the errors of pgx, which can quote a part of the password, except for the path of a file.
func (postgresURLParser) Parse(text string) (URL, error) {
	malformed := errors.New("is not the URL of a database: write postgres://user:password@host:5432/database, " +
		"and encode special characters of the password as %XX")
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "postgres" && scheme != "postgresql" {
		return URL{}, malformed
	}
	// pgx, which also accepts several hosts, ends the user and the password at the first "@" before any "/". Another "@", or a "?" before it,
	// shows that one of these is not encoded. A part of the password would then be taken for the host, the database or the query.
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
	return URL{whole: NewSecret(text), shown: "postgres://" + host + "/" + database}, nil
}

// BaseURL is the setting of the API's public address.
type BaseURL = Value[string, baseURLParser]

type baseURLParser struct{}

// Parse implements [Parser].
func (baseURLParser) Parse(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || !strings.HasSuffix(u.Path, "/v1") ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.RawPath != "" || strings.ContainsAny(u.Path, "{}") {
		return "", errors.New("is not an address that ends in /v1, without query, fragment and braces: write https://host/v1")
	}
	return text, nil
}

// AudioURL is the setting of the place of the recordings' audio.
type AudioURL = Value[audio.Location, audioURLParser]

type audioURLParser struct{}

// Parse implements [Parser].
func (audioURLParser) Parse(text string) (audio.Location, error) { return audio.ParseLocation(text) }
