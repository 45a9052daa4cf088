package secrets

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

func (c Config) createNATSFiles(f *folder) error {
	lines := make([]string, 0, len(natsUsers()))
	for _, user := range natsUsers() {
		line, err := c.createNATSURL(f, user)
		if err != nil {
			return fmt.Errorf("%s: %w", natsURLFile(user), err)
		}
		lines = append(lines, line)
	}
	_, err := f.ensure(file{name: natsPasswordsFile, mode: publicMode}, func() (string, error) {
		return natsPasswordsHeader + strings.Join(lines, ""), nil
	})
	return err
}

const natsPasswordsHeader = "# Made by 'callboard secrets create': bcrypt hashes of the passwords in nats-*-url.\n"

// createNATSURL returns the line of the server's configuration with the password in the user's URL.
func (c Config) createNATSURL(f *folder, user string) (line string, err error) {
	text, err := f.ensure(file{name: natsURLFile(user), mode: secretMode}, func() (string, error) { return c.natsURL(user, rand.Text()), nil })
	if err != nil {
		return "", err
	}
	password, err := passwordOf(text)
	if err != nil {
		return "", err
	}
	// The server checks the password with every connection. It is random and long, so a hash of little cost protects it too.
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	return fmt.Sprintf("%s_password: %q\n", user, hash), err
}

func (c Config) natsURL(user, password string) string {
	var servers []string
	for _, server := range c.natsServers() {
		servers = append(servers, server.scheme+"://"+url.UserPassword(user, password).String()+"@"+server.host)
	}
	return strings.Join(servers, ",")
}

// natsServer is the address of one server. The host can have a port.
type natsServer struct{ scheme, host string }

func (c Config) natsServers() (servers []natsServer) {
	for server := range strings.SplitSeq(c.NATS, ",") {
		scheme, host, found := strings.Cut(strings.TrimSpace(server), "://")
		if !found {
			scheme, host = "nats", scheme
		}
		servers = append(servers, natsServer{scheme, host})
	}
	return servers
}

// routePort is the port of NATS' routes.
const routePort = "6222"

// createNATSCluster creates the part of the servers' configuration that makes them a cluster. The password must be in it as it is: a
// server sends it to the others. Clients know all servers by their URLs, and containers' addresses change.
func (c Config) createNATSCluster(f *folder) error {
	servers := c.natsServers()
	if len(servers) < 2 {
		return nil
	}
	_, err := f.ensure(file{name: natsClusterFile, mode: secretMode}, func() (string, error) {
		password := rand.Text()
		var routes strings.Builder
		for _, server := range servers {
			u := url.URL{Scheme: "nats", User: url.UserPassword("route", password), Host: net.JoinHostPort(hostname(server.host), routePort)}
			fmt.Fprintf(&routes, "    %q\n", u.String())
		}
		return fmt.Sprintf(natsCluster, routePort, password, routes.String()), nil
	})
	return err
}

func hostname(address string) string {
	u := url.URL{Host: address}
	return u.Hostname()
}

const natsCluster = `# Made by 'callboard secrets create': the servers' routes to each other, and their password.
cluster {
  name: "callboard"
  listen: "0.0.0.0:%s"
  no_advertise: true # clients have the addresses of all servers
  authorization { user: "route", password: %q }
  routes: [
%s  ]
}
`
