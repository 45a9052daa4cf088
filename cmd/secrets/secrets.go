package secrets

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"callboard/internal/run/setting"
	"callboard/schema"
)

// Config says what to create.
type Config struct {
	Dir string // created if it does not exist

	// Postgres is host:port/database, and connection parameters after a question mark. Without sslmode it gets sslmode=require.
	Postgres string

	// Replicas are host:port of the standbys that readers read the projection from, separated by commas. Empty: none.
	Replicas string

	// NATS is host:port, with a scheme if it is not nats. Commas separate several servers, which form a cluster.
	NATS string

	// Group and PostgresUser are numbers of a group, which may read all files, and of PostgreSQL's user, which may read the password of
	// the database's owner. They have an effect only if this process runs as root.
	Group, PostgresUser int

	// Groups are the groups of files that have one of their own, by name. This process is root or a member of them.
	Groups map[string]int
}

// Result lists files by name, in the order in which they were created or found.
type Result struct {
	Folder  string   `json:"folder"`
	Created []string `json:"created"`
	Kept    []string `json:"kept"`
}

const (
	natsPasswordsFile   = "nats-passwords.conf"
	natsClusterFile     = "nats-cluster.conf"
	standbyPasswordFile = "postgres-standby-password"
	readerReplicaFile   = "postgres-reader-replica-url"
	webhookReadFile     = "webhook-read-urls"
)

func passwordFile(role string) string    { return "postgres-" + role + "-password" }
func postgresURLFile(role string) string { return "postgres-" + role + "-url" }
func natsURLFile(user string) string     { return "nats-" + user + "-url" }

func databaseRoles() []string {
	return []string{"owner", "projector", "reader", "operator", "webhooks"}
}
func natsUsers() []string {
	return []string{"owner", "publisher", "topology", "projector", "reader", "operator", "webhooks", "keys"}
}

// Create creates the files that are missing, and changes none.
func Create(c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(c.Dir, folderMode); err != nil {
		return Result{}, err
	}
	f := &folder{dir: c.Dir, group: c.Group, groups: c.Groups, result: Result{Folder: c.Dir, Created: []string{}, Kept: []string{}}}
	for _, step := range []func(*folder) error{checkSources, createKeys, c.createDatabaseFiles, c.createReplicaFiles, c.createNATSFiles, c.createNATSCluster} {
		if err := step(f); err != nil {
			return f.result, err
		}
	}
	return f.result, nil
}

// check checks the addresses with the parsers of the settings that the URLs are for, and the names of files.
func (c Config) check() error {
	if strings.Contains(c.Postgres+c.Replicas+c.NATS, "@") {
		return errors.New("an address has a user: name host and port only")
	}
	if _, err := setting.NewPostgresURL(c.postgresURL("owner", "password")); err != nil {
		return fmt.Errorf("address of PostgreSQL %q: write host:port/database", c.Postgres)
	}
	for _, replica := range c.replicas() {
		if _, err := setting.NewPostgresURL(c.webhookReadURL(replica, "password")); err != nil || replica == "" || strings.ContainsAny(replica, "/?# ") {
			return fmt.Errorf("address of a replica %q: write host:port, and separate several by commas", replica)
		}
	}
	if _, err := setting.NewNATSURL(c.natsURL("reader", "password")); err != nil {
		return fmt.Errorf("address of NATS %q: write host:port, and separate several by commas", c.NATS)
	}
	for name := range c.Groups {
		if !slices.Contains(fileNames(), name) {
			return fmt.Errorf("group of %s: there is no such secret", name)
		}
	}
	return nil
}

func fileNames() []string {
	names := []string{
		"key-pepper", "cursor-key", "webhook-key", natsPasswordsFile, natsClusterFile, standbyPasswordFile, readerReplicaFile, webhookReadFile,
	}
	for _, role := range databaseRoles() {
		names = append(names, passwordFile(role), postgresURLFile(role))
	}
	for _, user := range natsUsers() {
		names = append(names, natsURLFile(user))
	}
	return names
}

// checkSources refuses to create a password that a file which exists does not have.
func checkSources(f *folder) error {
	var errs []error
	check := func(made, source string) {
		exists, err := f.has(made)
		if err != nil || !exists {
			errs = append(errs, err)
			return
		}
		if exists, err = f.has(source); err == nil && !exists {
			err = fmt.Errorf("%s is missing, but %s, which has its password, is not: restore the first, or delete the second", source, made)
		}
		errs = append(errs, err)
	}
	for _, role := range databaseRoles() {
		check(postgresURLFile(role), passwordFile(role))
	}
	check(readerReplicaFile, passwordFile("reader"))
	check(webhookReadFile, passwordFile("webhooks"))
	for _, user := range natsUsers() {
		check(natsPasswordsFile, natsURLFile(user))
	}
	return errors.Join(errs...)
}

func createKeys(f *folder) error {
	for _, name := range []string{"key-pepper", "cursor-key", "webhook-key"} {
		if _, err := f.ensure(file{name: name, mode: secretMode}, randomKey); err != nil {
			return err
		}
	}
	return nil
}

func randomKey() (string, error) {
	key := make([]byte, 32)
	_, err := rand.Read(key)
	return base64.StdEncoding.EncodeToString(key), err
}

func randomPassword() (string, error) { return rand.Text(), nil }

func (c Config) createDatabaseFiles(f *folder) error {
	for _, role := range databaseRoles() {
		wanted := file{name: passwordFile(role), mode: secretMode}
		if role == "owner" {
			wanted.owner = c.PostgresUser // the server's image reads it
		}
		password, err := f.ensure(wanted, randomPassword)
		if err != nil {
			return err
		}
		_, err = f.ensure(file{name: postgresURLFile(role), mode: secretMode}, func() (string, error) { return c.postgresURL(role, password), nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func (c Config) postgresURL(role, password string) string {
	address := c.Postgres
	if !strings.Contains(address, "sslmode=") {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + "sslmode=require"
	}
	return "postgres://" + url.UserPassword("callboard_"+role, password).String() + "@" + address
}

// passwordOf returns the password of the first server's URL. The error contains no part of the text.
func passwordOf(text string) (string, error) {
	first, _, _ := strings.Cut(text, ",")
	u, err := url.Parse(strings.TrimSpace(first))
	if err == nil {
		if password, ok := u.User.Password(); ok {
			return password, nil
		}
	}
	return "", errors.New("is not a URL with a password")
}

// ReadPasswords reads the database passwords of the roles that programs use. Its errors contain no password.
func ReadPasswords(dir string) (p schema.Passwords, err error) {
	for role, password := range map[string]*string{
		"projector": &p.Projector, "reader": &p.Reader, "operator": &p.Operator, "webhooks": &p.Webhooks,
	} {
		var readErr error
		*password, readErr = read(dir, passwordFile(role))
		err = errors.Join(err, readErr)
	}
	return p, err
}
