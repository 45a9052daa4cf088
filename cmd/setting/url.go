package setting

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"callboard/readapi/audio"
)

// URL is an address that may hold a password, a token or both. It prints as scheme, host and path.
type URL struct {
	whole Secret
	shown string
}

// Reveal is the whole URL, empty where there is none.
func (u URL) Reveal() string { return u.whole.Reveal() }

// String is the URL without user, password and query.
func (u URL) String() string { return u.shown }

// Format prints String whatever the verb.
func (u URL) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.shown) }

// MarshalText writes String.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.shown), nil }

// NewNATSURL reads one URL, or several separated by commas.
func NewNATSURL(text string) (URL, error) { return natsURL{}.Parse(text) }

// NewPostgresURL reads the URL of a database.
func NewPostgresURL(text string) (URL, error) { return postgresURL{}.Parse(text) }

// NATSURL is where the NATS servers are.
type NATSURL = Value[URL, natsURL]

type natsURL struct{}

// Parse implements [Kind].
func (natsURL) Parse(text string) (URL, error) {
	var shown []string
	for server := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return URL{}, errors.New("is not the URL of a NATS server: write nats://host:4222, several with commas between")
		}
		shown = append(shown, visible(u))
	}
	return URL{NewSecret(text), strings.Join(shown, ",")}, nil
}

// PostgresURL is where a PostgreSQL database is.
type PostgresURL = Value[URL, postgresURL]

type postgresURL struct{}

// Parse implements [Kind]. What the parsers say of a malformed URL can hold a part of its password.
func (postgresURL) Parse(text string) (URL, error) {
	malformed := errors.New("is not the URL of a database: write postgres://user:password@host:5432/database, " +
		"and what is special in a password as %XX")
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "postgres" && scheme != "postgresql" {
		return URL{}, malformed
	}
	if _, err := pgconn.ParseConfig(text); err != nil {
		return URL{}, malformed
	}
	// Several hosts separated by commas are no URL to net/url, which wants one port.
	authority, path, _ := strings.Cut(rest, "/")
	authority, _, _ = strings.Cut(authority, "?")
	path, _, _ = strings.Cut(path, "?")
	host := authority[strings.LastIndex(authority, "@")+1:]
	return URL{NewSecret(text), "postgres://" + host + "/" + path}, nil
}

// BaseURL is the public address of the API.
type BaseURL = Value[string, baseURL]

type baseURL struct{}

// Parse implements [Kind].
func (baseURL) Parse(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || !strings.HasSuffix(u.Path, "/v1") {
		return "", errors.New("is not an address that ends in /v1: write https://host/v1")
	}
	return text, nil
}

// AudioURL is where the recordings' audio is.
type AudioURL = Value[audio.Location, audioURL]

type audioURL struct{}

// Parse implements [Kind].
func (audioURL) Parse(text string) (audio.Location, error) { return audio.ParseLocation(text) }

// visible is a URL without what may be secret in it: a NATS token stands where a user does.
func visible(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
