package webhooks

import (
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"callboard/projector/webhook/fanout"
	"callboard/schema"
)

// session returns settings that make every plan use the indexes, also of tables whose statistics are old: deliveries come and go. The
// keepalives make the server notice within seconds that the host of a session has disappeared, and release the session's locks. A sender that
// is frozen in a transaction loses its row locks before others own its shards.
func session(additional map[string]string) map[string]string {
	settings := map[string]string{
		"enable_seqscan":          "off",
		"enable_bitmapscan":       "off",
		"jit":                     "off",
		"tcp_keepalives_idle":     "5",
		"tcp_keepalives_interval": "2",
		"tcp_keepalives_count":    "3",

		"idle_in_transaction_session_timeout": "5s",
	}
	maps.Copy(settings, additional)
	return settings
}

// gate returns nil where readers use the primary.
func (c Config) gate() *fanout.Gate {
	if len(c.ReadURLs) == 0 {
		return nil
	}
	return fanout.NewGate(fanout.GateConfig{Databases: c.readers, Log: c.Log})
}

// readers returns how to connect to the databases of readers, with the passwords that the files have now.
func (c Config) readers() ([]*pgx.ConnConfig, error) {
	list := make([]*pgx.ConnConfig, len(c.ReadURLs))
	for i, url := range c.ReadURLs {
		now, err := url.Reload()
		if err != nil {
			return nil, err
		}
		if list[i], err = pgx.ParseConfig(now.Reveal()); err != nil {
			// Not wrapped, because the parser's error quotes the URL.
			return nil, fmt.Errorf("PostgreSQL at %s: the URL can't be parsed", now)
		}
		maps.Copy(list[i].RuntimeParams, schema.SessionSettings())
		list[i].RuntimeParams["application_name"] = "webhooks-gate"
		maps.Copy(list[i].RuntimeParams, c.Session)
	}
	return list, nil
}
