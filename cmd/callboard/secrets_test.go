package main

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/conf"
	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/errgroup"

	"callboard/internal/run/setting"
)

func testSecrets(dir string) *secretsCreateCommand {
	return &secretsCreateCommand{
		Dir: dir, Postgres: "db:5432/callboard", NATS: "nats:4222",
		Group: os.Getegid(), PostgresUser: os.Geteuid(),
	}
}

func mustCreateSecrets(t *testing.T, c *secretsCreateCommand) secretsResult {
	t.Helper()
	result, err := c.create()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func secretNames() []string {
	list := []string{"cursor-key", "key-pepper", "webhook-key", "nats-passwords.conf"}
	for _, role := range []string{"owner", "projector", "reader", "operator", "webhooks"} {
		list = append(list, "postgres-"+role+"-password", "postgres-"+role+"-url")
	}
	for _, user := range []string{"owner", "publisher", "topology", "projector", "reader", "operator", "webhooks", "keys"} {
		list = append(list, "nats-"+user+"-url")
	}
	return list
}

// contents returns the folder's files by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}

func expectNames(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "secrets")
	result := mustCreateSecrets(t, testSecrets(dir))
	expectNames(t, "created", result.Created, secretNames())
	expectNames(t, "kept", result.Kept, nil)
	files := contents(t, dir)
	expectNames(t, "files", slices.Collect(maps.Keys(files)), secretNames())
	checkContents(t, files)
	for name := range files {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want := fs.FileMode(0o440)
		if name == "nats-passwords.conf" {
			want = 0o444
		}
		if info.Mode() != want {
			t.Errorf("%s: mode = %v, want %v", name, info.Mode(), want)
		}
	}
}

// checkContents checks that the files can be used and fit together.
func checkContents(t *testing.T, files map[string]string) {
	t.Helper()
	for _, name := range []string{"key-pepper", "cursor-key", "webhook-key"} {
		if _, err := setting.NewCursorKey(files[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, role := range []string{"owner", "projector", "reader", "operator", "webhooks"} {
		password := files["postgres-"+role+"-password"]
		want := fmt.Sprintf("postgres://callboard_%s:%s@db:5432/callboard?sslmode=require", role, password)
		if got := files["postgres-"+role+"-url"]; got != want || !regexp.MustCompile(`^[A-Z2-7]{26}$`).MatchString(password) {
			t.Errorf("%s: URL = %s, password = %s, want %s with 26 random characters", role, got, password, want)
		}
	}
	variables, err := conf.Parse(files["nats-passwords.conf"])
	if err != nil || len(variables) != 8 {
		t.Fatalf("nats-passwords.conf = %v, %v, want 8 variables", variables, err)
	}
	for _, user := range []string{"owner", "publisher", "topology", "projector", "reader", "operator", "webhooks", "keys"} {
		u, err := url.Parse(files["nats-"+user+"-url"])
		if err != nil {
			t.Fatal(err)
		}
		password, _ := u.User.Password()
		if u.Scheme != "nats" || u.Host != "nats:4222" || u.User.Username() != user {
			t.Errorf("URL = %s, want nats://%s:password@nats:4222", u, user)
		}
		hash, _ := variables[user+"_password"].(string)
		if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)); err != nil {
			t.Errorf("%s: hash = %q of password %q: %v", user, hash, password, err)
		}
	}
}

// Whatever exists is kept, with its own password, and the rest is made to fit.
func TestCreate_KeepsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	existing := map[string]string{
		"key-pepper":               "the pepper of another machine\n",
		"postgres-reader-password": "p@ss/word\n",
		"nats-topology-url":        "nats://topology:chosen@elsewhere:4222\n",
	}
	for name, content := range existing {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expectNames(t, "kept", mustCreateSecrets(t, testSecrets(dir)).Kept, slices.Collect(maps.Keys(existing)))
	files := contents(t, dir)
	for name, content := range existing {
		if files[name] != content {
			t.Errorf("%s = %q, want %q", name, files[name], content)
		}
	}
	if got, want := files["postgres-reader-url"], "postgres://callboard_reader:p%40ss%2Fword@db:5432/callboard?sslmode=require"; got != want {
		t.Errorf("URL = %s, want %s", got, want)
	}
	variables, err := conf.Parse(files["nats-passwords.conf"])
	if err != nil {
		t.Fatal(err)
	}
	hash, _ := variables["topology_password"].(string)
	if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte("chosen")); err != nil {
		t.Errorf("topology's hash = %q: %v", hash, err)
	}
	again := mustCreateSecrets(t, testSecrets(dir))
	expectNames(t, "created again", again.Created, nil)
	if after := contents(t, dir); !maps.Equal(after, files) {
		t.Errorf("files after a second run = %v, want %v", after, files)
	}
}

// A run that was interrupted after any file is completed by the next one.
func TestCreate_Continues(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	created := mustCreateSecrets(t, testSecrets(whole)).Created
	files := contents(t, whole)
	for n := range created {
		dir := t.TempDir()
		for _, name := range created[:n] {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		expectNames(t, "created", mustCreateSecrets(t, testSecrets(dir)).Created, created[n:])
		checkContents(t, contents(t, dir))
	}
}

func TestCreate_TwoAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		var both errgroup.Group
		for range 2 {
			both.Go(func() error {
				_, err := testSecrets(dir).create()
				return err
			})
		}
		if err := both.Wait(); err != nil {
			t.Fatal(err)
		}
		files := contents(t, dir)
		expectNames(t, "files", slices.Collect(maps.Keys(files)), secretNames())
		checkContents(t, files)
	}
}

// A new password would not be the one that another file has.
func TestCreate_MissingSource(t *testing.T) {
	t.Parallel()
	for missing, made := range map[string]string{
		"postgres-owner-password": "postgres-owner-url",
		"nats-reader-url":         "nats-passwords.conf",
	} {
		dir := t.TempDir()
		mustCreateSecrets(t, testSecrets(dir))
		if err := os.Remove(filepath.Join(dir, missing)); err != nil {
			t.Fatal(err)
		}
		before := contents(t, dir)
		_, err := testSecrets(dir).create()
		if err == nil || !strings.Contains(err.Error(), missing+" is missing") || !strings.Contains(err.Error(), made) {
			t.Errorf("error = %v, want one about %s and %s", err, missing, made)
		}
		if after := contents(t, dir); !maps.Equal(before, after) {
			t.Errorf("files = %v, want %v", after, before)
		}
		if err := os.Remove(filepath.Join(dir, made)); err != nil {
			t.Fatal(err)
		}
		expectNames(t, "created", mustCreateSecrets(t, testSecrets(dir)).Created, []string{missing, made})
		checkContents(t, contents(t, dir))
	}
}

func TestCreate_Addresses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ postgres, nats, wantPostgres, wantNATS string }{
		{
			"a:1,b:2/x?target_session_attrs=read-write", "tls://a:4222,tls://b:4222",
			"@a:1,b:2/x?target_session_attrs=read-write&sslmode=require", "tls://reader:P@a:4222,tls://reader:P@b:4222",
		},
		{"a/x?sslmode=disable", "a:4222, b:4222", "@a/x?sslmode=disable", "nats://reader:P@a:4222,nats://reader:P@b:4222"},
	} {
		c := testSecrets(t.TempDir())
		c.Postgres, c.NATS = test.postgres, test.nats
		mustCreateSecrets(t, c)
		files := contents(t, c.Dir)
		if got := files["postgres-reader-url"]; !strings.HasSuffix(got, test.wantPostgres) {
			t.Errorf("PostgreSQL URL = %s, want %s at the end", got, test.wantPostgres)
		}
		if got := regexp.MustCompile(`[A-Z2-7]{26}`).ReplaceAllString(files["nats-reader-url"], "P"); got != test.wantNATS {
			t.Errorf("NATS URL = %s, want %s", got, test.wantNATS)
		}
	}
	for name, change := range map[string]func(*secretsCreateCommand){
		"a user":               func(c *secretsCreateCommand) { c.Postgres = "me:secret@db/callboard" },
		"a user of NATS":       func(c *secretsCreateCommand) { c.NATS = "secret@nats:4222" },
		"another scheme":       func(c *secretsCreateCommand) { c.NATS = "http://nats:4222" },
		"an empty address":     func(c *secretsCreateCommand) { c.NATS = "" },
		"an impossible option": func(c *secretsCreateCommand) { c.Postgres = "db/callboard?sslmode=maybe" },
	} {
		c := testSecrets(filepath.Join(t.TempDir(), "none"))
		change(c)
		_, err := c.create()
		if err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: error = %v, want one without the address's user", name, err)
		}
		if _, err := os.Stat(c.Dir); err == nil {
			t.Errorf("%s: the folder exists, want none", name)
		}
	}
}

// Several NATS servers get a cluster's configuration, in which every route has the password that the servers ask for.
func TestCreate_NATSCluster(t *testing.T) {
	t.Parallel()
	c := testSecrets(t.TempDir())
	c.NATS = "a:4222, tls://b:4223,[::1]:4222"
	expectNames(t, "created", mustCreateSecrets(t, c).Created, append(secretNames(), "nats-cluster.conf"))
	path := filepath.Join(c.Dir, "nats-cluster.conf")
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o440 {
		t.Errorf("mode = %v, %v, want 0440", info.Mode(), err)
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cluster := options.Cluster
	if cluster.Name != "callboard" || cluster.Port != 6222 || !cluster.NoAdvertise || !regexp.MustCompile(`^[A-Z2-7]{26}$`).MatchString(cluster.Password) {
		t.Errorf("cluster = %+v, want callboard at port 6222 with a random password", cluster)
	}
	var routes []string
	for _, route := range options.Routes {
		password, _ := route.User.Password()
		if route.User.Username() != cluster.Username || password != cluster.Password {
			t.Errorf("route to %s has another user or password than the cluster", route.Host)
		}
		routes = append(routes, route.Scheme+"://"+route.Host)
	}
	if want := []string{"nats://a:6222", "nats://b:6222", "nats://[::1]:6222"}; !slices.Equal(routes, want) {
		t.Errorf("routes = %v, want %v", routes, want)
	}
	before := contents(t, c.Dir)
	expectNames(t, "created again", mustCreateSecrets(t, c).Created, nil)
	if after := contents(t, c.Dir); !maps.Equal(after, before) {
		t.Error("a second run changed files, want none changed")
	}
}

// Readers get the replicas before the primary, and senders of webhooks each replica, whatever its role is.
func TestCreate_Replicas(t *testing.T) {
	t.Parallel()
	made := []string{"postgres-standby-password", "postgres-reader-replica-url", "webhook-read-urls"}
	for _, test := range []struct{ postgres, replicas, reader, webhooks string }{
		{
			"db:5432/callboard", "s:5432",
			"postgres://callboard_reader:R@s:5432,db:5432/callboard?target_session_attrs=prefer-standby&sslmode=require",
			"postgres://callboard_webhooks:W@s:5432/callboard?sslmode=require",
		},
		{
			"a:1,b:2/x?target_session_attrs=read-write&sslmode=verify-full", "a:1,b:2",
			"postgres://callboard_reader:R@a:1,b:2/x?sslmode=verify-full&target_session_attrs=prefer-standby",
			"postgres://callboard_webhooks:W@a:1/x?sslmode=verify-full postgres://callboard_webhooks:W@b:2/x?sslmode=verify-full",
		},
	} {
		c := testSecrets(t.TempDir())
		c.Postgres, c.Replicas = test.postgres, test.replicas
		expectNames(t, "created", mustCreateSecrets(t, c).Created, append(secretNames(), made...))
		files := contents(t, c.Dir)
		passwords := strings.NewReplacer(files["postgres-reader-password"], "R", files["postgres-webhooks-password"], "W")
		if got := passwords.Replace(files["postgres-reader-replica-url"]); got != test.reader {
			t.Errorf("reader's URL = %s, want %s", got, test.reader)
		}
		if got := passwords.Replace(files["webhook-read-urls"]); got != test.webhooks {
			t.Errorf("senders' URLs = %s, want %s", got, test.webhooks)
		}
		if _, err := setting.NewPostgresURL(files["postgres-reader-replica-url"]); err != nil {
			t.Errorf("reader's URL: %v", err)
		}
		if !regexp.MustCompile(`^[A-Z2-7]{26}$`).MatchString(files["postgres-standby-password"]) {
			t.Errorf("standby's password = %s, want 26 random characters", files["postgres-standby-password"])
		}
	}
	for _, replicas := range []string{"s:5432,", "s/x", "secret@s", "s:port", "s t"} {
		c := testSecrets(filepath.Join(t.TempDir(), "none"))
		c.Replicas = replicas
		if _, err := c.create(); err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("replicas %q: error = %v, want one without a user", replicas, err)
		}
	}
	c := testSecrets(t.TempDir())
	c.Replicas = "s:5432"
	mustCreateSecrets(t, c)
	for _, name := range []string{"postgres-webhooks-password", "postgres-webhooks-url"} {
		if err := os.Remove(filepath.Join(c.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.create(); err == nil || !strings.Contains(err.Error(), "webhook-read-urls") {
		t.Errorf("error = %v, want one about webhook-read-urls, which has the password that is missing", err)
	}
}

// As root, the programs' group may read all files, and PostgreSQL's user that of the owner's password.
func TestCreate_AsRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	c := testSecrets(t.TempDir())
	c.Group, c.PostgresUser = 65532, 999
	for _, name := range mustCreateSecrets(t, c).Created {
		info, err := os.Stat(filepath.Join(c.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		owner := uint32(0)
		if name == "postgres-owner-password" {
			owner = 999
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != owner || stat.Gid != 65532 {
			t.Errorf("%s: user and group = %d, %d, want %d, 65532", name, stat.Uid, stat.Gid, owner)
		}
	}
}

// A file with another group is readable by that group, and not by the others'.
func TestCreate_Groups(t *testing.T) {
	t.Parallel()
	c := testSecrets(t.TempDir())
	other := c.Group + 1
	if os.Geteuid() != 0 {
		memberships, err := os.Getgroups()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(memberships, func(group int) bool { return group != c.Group })
		if i < 0 {
			t.Skip("this user is a member of one group only")
		}
		other = memberships[i]
	}
	c.Groups = map[string]int{"postgres-reader-url": other, "key-pepper": other}
	for _, name := range mustCreateSecrets(t, c).Created {
		info, err := os.Stat(filepath.Join(c.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want := c.Group
		if _, ok := c.Groups[name]; ok {
			want = other
		}
		if got := int(info.Sys().(*syscall.Stat_t).Gid); got != want {
			t.Errorf("%s: group = %d, want %d", name, got, want)
		}
	}
	c.Groups = map[string]int{"pepper": other}
	if _, err := c.create(); err == nil || !strings.Contains(err.Error(), "pepper") {
		t.Errorf("error for an unknown file = %v, want one that names it", err)
	}
}

func TestReadPasswords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustCreateSecrets(t, testSecrets(dir))
	files := contents(t, dir)
	p, err := readPasswords(dir)
	if err != nil || p.Projector != files["postgres-projector-password"] || p.Reader != files["postgres-reader-password"] ||
		p.Operator != files["postgres-operator-password"] || p.Webhooks != files["postgres-webhooks-password"] {
		t.Errorf("passwords = %v, %v, want those of the files", p, err)
	}
	if err := os.Remove(filepath.Join(dir, "postgres-reader-password")); err != nil {
		t.Fatal(err)
	}
	if _, err := readPasswords(dir); err == nil || !strings.Contains(err.Error(), "postgres-reader-password") {
		t.Errorf("error = %v, want one about the missing file", err)
	}
}
