package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"callboard/internal/run/setting"
	"callboard/schema"
)

// The secrets of an installation are files in one folder:
//
//	key-pepper, cursor-key, webhook-key   32 random bytes in base64
//	postgres-ROLE-password        of the owner, the projector, the reader, the senders of webhooks and the operator
//	postgres-ROLE-url             with that password
//	nats-USER-url                 of each user of NATS, with a password
//	nats-passwords.conf           variables of the NATS server's configuration: bcrypt hashes of these passwords
//	nats-cluster.conf             with several NATS servers: the part of their configuration about their routes
//	postgres-standby-password     with replicas: of the role that standbys connect as
//	postgres-reader-replica-url   with replicas: where readers read the projection: the replicas, then the primary
//	webhook-read-urls             with replicas: all of them, for the senders of webhooks
//
// Existing files are kept. A file is complete as soon as it is visible, so an interrupted run can be repeated, and two
// runs at once leave files that fit together.

// secretFile is a file that may have to be created.
type secretFile struct {
	name  string
	owner int // zero: this process's user

	// generate makes the content from the contents of the files named sources, whose passwords it has. These files come
	// earlier.
	generate func(sources []string) (string, error)
	sources  []string
}

const natsPasswordsFile = "nats-passwords.conf"

func passwordFile(role string) string { return "postgres-" + role + "-password" }

// files returns the files of the installation, each behind its sources.
func (c *secretsCreateCommand) files() (files []secretFile) {
	add := func(name string, generate func(sources []string) (string, error), sources ...string) {
		files = append(files, secretFile{name: name, generate: generate, sources: sources})
	}
	text := func(make func(sources []string) string) func([]string) (string, error) {
		return func(sources []string) (string, error) { return make(sources), nil }
	}

	for _, name := range []string{"key-pepper", "cursor-key", "webhook-key"} {
		add(name, text(func([]string) string { return randomKey() }))
	}

	// The database's roles. The server's image reads the owner's password as PostgreSQL's user.
	for _, role := range []string{"owner", "projector", "reader", "operator", "webhooks"} {
		add(passwordFile(role), randomPassword)
		if role == "owner" {
			files[len(files)-1].owner = c.PostgresUser
		}
		add("postgres-"+role+"-url", text(func(sources []string) string { return postgresURL(c.Postgres, role, sources[0]) }), passwordFile(role))
	}

	// Only an installation with replicas has these files.
	if len(c.replicas()) > 0 {
		add(passwordFile("standby"), randomPassword)
		add("postgres-reader-replica-url", text(func(sources []string) string { return c.readerReplicaURL(sources[0]) }),
			passwordFile("reader"))
		add("webhook-read-urls", text(func(sources []string) string { return c.webhookReadURLs(sources[0]) }),
			passwordFile("webhooks"))
	}

	// Each user of NATS has a URL. The server gets hashes of the passwords in all of them.
	users := []string{"owner", "publisher", "topology", "projector", "reader", "operator", "webhooks", "keys"}
	var urls []string
	for _, user := range users {
		urls = append(urls, "nats-"+user+"-url")
		add("nats-"+user+"-url", text(func([]string) string { return c.natsURL(user, rand.Text()) }))
	}

	add(natsPasswordsFile, func(sources []string) (string, error) { return natsPasswords(users, sources) }, urls...)

	// Several servers need routes to each other.
	if len(c.natsServers()) > 1 {
		add("nats-cluster.conf", text(func([]string) string { return c.natsCluster(rand.Text()) }))
	}

	return files
}

// create creates the files that are missing, and changes none. It refuses to replace a password that an
// existing file has.
func (c *secretsCreateCommand) create() (secretsResult, error) {
	if err := c.check(); err != nil {
		return secretsResult{}, err
	}

	// Other users, such as PostgreSQL's, reach their file by its name.
	f := secretsFolder{c, secretsResult{Folder: c.Dir, Created: []string{}, Kept: []string{}}}
	if err := os.MkdirAll(c.Dir, 0o711); err != nil {
		return f.result, err
	}

	// A missing source is an error before the command creates its first file.
	files := c.files()
	for _, wanted := range files {
		if err := f.checkSources(wanted); err != nil {
			return f.result, err
		}
	}

	for _, wanted := range files {
		if err := f.ensure(wanted); err != nil {
			return f.result, fmt.Errorf("%s: %w", wanted.name, err)
		}
	}

	return f.result, nil
}

// check checks the addresses with the parsers of the settings that the URLs are for, and the names of files.
func (c *secretsCreateCommand) check() error {
	if strings.Contains(c.Postgres+c.Replicas+c.NATS, "@") {
		return errors.New("an address has a user: name host and port only")
	}

	if _, err := setting.NewPostgresURL(postgresURL(c.Postgres, "owner", "password")); err != nil {
		return fmt.Errorf("address of PostgreSQL %q: write host:port/database", c.Postgres)
	}

	for _, replica := range c.replicas() {
		_, err := setting.NewPostgresURL(postgresURL(replica+"/callboard", "webhooks", "password"))
		if err != nil || replica == "" || strings.ContainsAny(replica, "/?# ") {
			return fmt.Errorf("address of a replica %q: write host:port, and separate several by commas", replica)
		}
	}

	if _, err := setting.NewNATSURL(c.natsURL("reader", "password")); err != nil {
		return fmt.Errorf("address of NATS %q: write host:port, and separate several by commas", c.NATS)
	}

	// A group may be given for a file that only another installation has.
	all := (&secretsCreateCommand{Replicas: "replica", NATS: "one,two"}).files()
	for name := range c.Groups {
		if !slices.ContainsFunc(all, func(f secretFile) bool { return f.name == name }) {
			return fmt.Errorf("group of %s: there is no such secret", name)
		}
	}

	return nil
}

// randomKey returns 32 random bytes in base64.
func randomKey() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

func randomPassword([]string) (string, error) { return rand.Text(), nil }

// postgresURL returns the URL of a role at an address, which requires TLS unless the address says something else.
func postgresURL(address, role, password string) string {
	if !strings.Contains(address, "sslmode=") {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + "sslmode=require"
	}
	return "postgres://" + url.UserPassword("callboard_"+role, password).String() + "@" + address
}

func (c *secretsCreateCommand) replicas() []string {
	if c.Replicas == "" {
		return nil
	}
	return strings.Split(c.Replicas, ",")
}

// readerReplicaURL is the URL of the replicas, and of the primary for when there is none.
func (c *secretsCreateCommand) readerReplicaURL(password string) string {
	hosts := c.replicas()
	primary, _, _ := strings.Cut(c.Postgres, "/")
	for host := range strings.SplitSeq(primary, ",") {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return postgresURL(c.addressAt(strings.Join(hosts, ","), "target_session_attrs=prefer-standby"), "reader", password)
}

// webhookReadURLs are the URLs of all replicas. Senders ask each whatever it is, so that they also ask one that was
// promoted.
func (c *secretsCreateCommand) webhookReadURLs(password string) string {
	var urls []string
	for _, replica := range c.replicas() {
		urls = append(urls, postgresURL(c.addressAt(replica, ""), "webhooks", password))
	}
	return strings.Join(urls, " ")
}

// addressAt is the address of the database on other servers. attributes replace what a session's server must be, empty:
// anything.
func (c *secretsCreateCommand) addressAt(hosts, attributes string) string {
	_, database, _ := strings.Cut(c.Postgres, "/")
	database, query, _ := strings.Cut(database, "?")
	parameters := slices.DeleteFunc(append(strings.Split(query, "&"), attributes), func(p string) bool {
		return p == "" || p != attributes && strings.HasPrefix(p, "target_session_attrs=")
	})

	address := hosts + "/" + database
	if len(parameters) > 0 {
		address += "?" + strings.Join(parameters, "&")
	}
	return address
}

// natsServers returns the addresses of the servers, as URLs without a user.
func (c *secretsCreateCommand) natsServers() (servers []url.URL) {
	for server := range strings.SplitSeq(c.NATS, ",") {
		scheme, host, found := strings.Cut(strings.TrimSpace(server), "://")
		if !found {
			scheme, host = "nats", scheme
		}
		servers = append(servers, url.URL{Scheme: scheme, Host: host})
	}
	return servers
}

func (c *secretsCreateCommand) natsURL(user, password string) string {
	var urls []string
	for _, server := range c.natsServers() {
		urls = append(urls, server.Scheme+"://"+url.UserPassword(user, password).String()+"@"+server.Host)
	}
	return strings.Join(urls, ",")
}

// natsPasswords are variables with hashes of the passwords in the users' URLs. Errors contain no part of a URL.
func natsPasswords(users, urls []string) (string, error) {
	var text strings.Builder
	text.WriteString("# Made by 'callboard secrets create': bcrypt hashes of the passwords in nats-*-url.\n")
	for i, user := range users {
		first, _, _ := strings.Cut(urls[i], ",")
		u, err := url.Parse(strings.TrimSpace(first))
		if err != nil {
			return "", fmt.Errorf("nats-%s-url is not a URL with a password", user)
		}

		// A file that the operator wrote may hold a URL without a password.
		password, _ := u.User.Password()
		if password == "" {
			return "", fmt.Errorf("nats-%s-url is not a URL with a password", user)
		}

		// The server checks the password with every connection. It is random and long, so a hash of little cost
		// protects it too.
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s_password: %q\n", user, hash)
	}
	return text.String(), nil
}

// routePort is the port of NATS' routes.
const routePort = "6222"

const natsClusterText = `# Made by 'callboard secrets create': the servers' routes to each other, and their password.
cluster {
  name: "callboard"
  listen: "0.0.0.0:%s"
  no_advertise: true # clients have the addresses of all servers
  authorization { user: "route", password: %q }
  routes: [
%s  ]
}
`

// natsCluster is the part of the servers' configuration that makes them a cluster. The password must be in it as it is:
// a server sends it to the others. Clients know all servers by their URLs, and containers' addresses change.
func (c *secretsCreateCommand) natsCluster(password string) string {
	var routes strings.Builder
	for _, server := range c.natsServers() {
		host := net.JoinHostPort(server.Hostname(), routePort)
		route := url.URL{Scheme: "nats", User: url.UserPassword("route", password), Host: host}
		fmt.Fprintf(&routes, "    %q\n", route.String())
	}
	return fmt.Sprintf(natsClusterText, routePort, password, routes.String())
}

// readPasswords reads the database passwords of the roles that programs use. Its errors contain no password.
func readPasswords(dir string) (p schema.Passwords, err error) {
	for role, password := range map[string]*string{
		"projector": &p.Projector, "reader": &p.Reader, "operator": &p.Operator, "webhooks": &p.Webhooks,
	} {
		var readErr error
		*password, readErr = readSecretFile(dir, passwordFile(role))
		err = errors.Join(err, readErr)
	}
	return p, err
}
