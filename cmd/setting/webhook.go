package setting

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"callboard/events/webhook"
	"callboard/projector/webhook/vault"
	"callboard/readapi/access"
)

// WebhookKeys are the keys that encrypt the signing secrets of webhook endpoints, the current one first.
type WebhookKeys = Value[[]vault.Key, webhookKeysParser]

type webhookKeysParser struct{}

// Parse implements [Parser].
func (webhookKeysParser) Parse(text string) ([]vault.Key, error) {
	return parseSecrets(text, func(text string) (vault.Key, error) {
		secret, err := access.DecodeSecret(text)
		if err != nil {
			return vault.Key{}, err
		}
		return vault.NewKey(secret)
	})
}

// Retries are the intervals between the attempts of a delivery. The last one repeats.
type Retries = Value[[]time.Duration, retriesParser]

type retriesParser struct{}

// maxGiveUp is above the time for which deliveries are stored.
const maxGiveUp = 365 * day

// Parse implements [Parser].
func (retriesParser) Parse(text string) ([]time.Duration, error) {
	list, err := parseList(text, giveUpParser{}.Parse)
	if err != nil {
		return nil, errors.New("is not a list of durations above 0s and up to 365d: write for example 5s,30s,2m,10m")
	}
	return list, nil
}

// GiveUp is the time after which a delivery is not attempted again.
type GiveUp = Value[time.Duration, giveUpParser]

type giveUpParser struct{}

// Parse implements [Parser].
func (giveUpParser) Parse(text string) (time.Duration, error) {
	d, ok := parseDuration(text)
	if !ok || d <= 0 || d > maxGiveUp {
		return 0, errors.New("is not a duration above 0s and up to 365d: write for example 72h")
	}
	return d, nil
}

// Timeout is the time that a request may take.
type Timeout = Value[time.Duration, timeoutParser]

type timeoutParser struct{}

// maxTimeout refuses typing errors. A request that hangs has one of the places of all requests.
const maxTimeout = 5 * time.Minute

// Parse implements [Parser].
func (timeoutParser) Parse(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		return 0, errors.New("is not a duration above 0s and up to 5m: write for example 15s")
	}
	return d, nil
}

// InFlight is the number of requests that a program sends at once.
type InFlight = Value[int, inFlightParser]

type inFlightParser struct{}

// maxInFlight is below the number of connections that a process can have open. It refuses typing errors.
const maxInFlight = 10_000

// Parse implements [Parser].
func (inFlightParser) Parse(text string) (int, error) {
	return parseCount(text, "number of requests", maxInFlight)
}

// Ports are TCP ports, in ascending order.
type Ports = Value[[]uint16, portsParser]

type portsParser struct{}

// Parse implements [Parser].
func (portsParser) Parse(text string) ([]uint16, error) {
	var list []uint16
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 16)
		if err != nil || n == 0 {
			return nil, errors.New("is not a list of ports: write for example 443,8443")
		}
		list = append(list, uint16(n))
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// PostgresURLs is a setting of several PostgreSQL databases. White space separates them, because a URL with several hosts has commas.
type PostgresURLs = Value[URLs, postgresURLsParser]

// URLs are several URLs, each of which can hold a password.
type URLs []URL

// withReload returns the URLs with functions that read them again.
func (u URLs) withReload(reload func() (URLs, error)) URLs {
	list := slices.Clone(u)
	for i := range list {
		list[i] = list[i].withReload(func() (URL, error) {
			again, err := reload()
			if err != nil {
				return URL{}, err
			}
			if len(again) != len(list) {
				return URL{}, fmt.Errorf("the file has %d URLs, and had %d: restart the program", len(again), len(list))
			}
			return again[i], nil
		})
	}
	return list
}

type postgresURLsParser struct{}

// Parse implements [Parser].
func (postgresURLsParser) Parse(text string) (URLs, error) {
	var list URLs
	for part := range strings.FieldsSeq(text) {
		u, err := NewPostgresURL(part)
		if err != nil {
			return nil, fmt.Errorf("contains an invalid URL: number %d %w", len(list)+1, err)
		}
		list = append(list, u)
	}
	if len(list) == 0 {
		return nil, errors.New("contains no URL: write postgres://user:password@host:5432/database, and separate several by spaces")
	}
	return list, nil
}

// WebhookSecrets are the signing secrets of one webhook endpoint.
type WebhookSecrets = Value[[]webhook.Secret, webhookSecretsParser]

type webhookSecretsParser struct{}

// Parse implements [Parser].
func (webhookSecretsParser) Parse(text string) ([]webhook.Secret, error) {
	list, err := parseList(text, webhook.ParseSecret)
	if err != nil {
		return nil, fmt.Errorf("contains an invalid secret: number %d: %w", len(list)+1, err)
	}
	return list, nil
}
