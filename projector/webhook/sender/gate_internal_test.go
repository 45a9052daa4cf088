package sender

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
)

// Databases and users behind one address are asked one by one, also after another look at the addresses.
func TestGate_DatabasesOfOneAddress(t *testing.T) {
	g := NewGate(GateConfig{Log: zerolog.Nop(), Databases: func() (list []*pgx.ConnConfig, err error) {
		for _, url := range []string{"postgres://a@127.0.0.1:1/east", "postgres://a@127.0.0.1:1/west", "postgres://b@127.0.0.1:1/west"} {
			config, err := pgx.ParseConfig(url)
			if err != nil {
				return nil, err
			}
			list = append(list, config)
		}
		return list, nil
	}})
	t.Cleanup(g.Close)
	for look := range 2 {
		g.next = time.Time{}
		g.resolve(t.Context())
		var got []string
		for _, s := range g.servers {
			got = append(got, s.config.User+"/"+s.config.Database)
		}
		if want := []string{"a/east", "a/west", "b/west"}; !slices.Equal(got, want) {
			t.Errorf("look %d: databases = %v, want %v", look+1, got, want)
		}
	}
}
