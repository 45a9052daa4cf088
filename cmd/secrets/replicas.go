package secrets

import (
	"slices"
	"strings"
)

// createReplicaFiles creates what standbys, and programs that read them, need.
func (c Config) createReplicaFiles(f *folder) error {
	if len(c.replicas()) == 0 {
		return nil
	}
	reader, err := read(f.dir, passwordFile("reader"))
	if err != nil {
		return err
	}
	webhooks, err := read(f.dir, passwordFile("webhooks"))
	if err != nil {
		return err
	}
	for _, created := range []struct {
		name     string
		generate func() (string, error)
	}{
		{standbyPasswordFile, randomPassword},
		{readerReplicaFile, func() (string, error) { return c.readerReplicaURL(reader), nil }},
		{webhookReadFile, func() (string, error) {
			var urls []string
			for _, replica := range c.replicas() {
				urls = append(urls, c.webhookReadURL(replica, webhooks))
			}
			return strings.Join(urls, " "), nil
		}},
	} {
		if _, err := f.ensure(file{name: created.name, mode: secretMode}, created.generate); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) replicas() []string {
	if c.Replicas == "" {
		return nil
	}
	return strings.Split(c.Replicas, ",")
}

// readerReplicaURL is the URL of the replicas, and of the primary for when there is none.
func (c Config) readerReplicaURL(password string) string {
	hosts := c.replicas()
	primary, _, _ := strings.Cut(c.Postgres, "/")
	for host := range strings.SplitSeq(primary, ",") {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return c.at(strings.Join(hosts, ","), "prefer-standby").postgresURL("reader", password)
}

// webhookReadURL is the URL of one replica. Senders ask it whatever it is, so that they also ask one that was promoted.
func (c Config) webhookReadURL(replica, password string) string {
	return c.at(replica, "").postgresURL("webhooks", password)
}

// at is the configuration with other servers of PostgreSQL, and the attributes that a session's server must have.
func (c Config) at(hosts, attributes string) Config {
	_, database, _ := strings.Cut(c.Postgres, "/")
	database, query, _ := strings.Cut(database, "?")
	var parameters []string
	for parameter := range strings.SplitSeq(query, "&") {
		if parameter != "" && !strings.HasPrefix(parameter, "target_session_attrs=") {
			parameters = append(parameters, parameter)
		}
	}
	if attributes != "" {
		parameters = append(parameters, "target_session_attrs="+attributes)
	}
	c.Postgres = hosts + "/" + database
	if len(parameters) > 0 {
		c.Postgres += "?" + strings.Join(parameters, "&")
	}
	return c
}
