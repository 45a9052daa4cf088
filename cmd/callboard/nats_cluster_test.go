package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"callboard/events/eventstest"
)

// natsLog is what a NATS server logs at its most verbose.
type natsLog struct{ eventstest.LogBuffer }

func (l *natsLog) add(format string, v ...any) { fmt.Fprintf(l, format+"\n", v...) }

func (l *natsLog) Noticef(format string, v ...any) { l.add(format, v...) }
func (l *natsLog) Warnf(format string, v ...any)   { l.add(format, v...) }
func (l *natsLog) Fatalf(format string, v ...any)  { l.add(format, v...) }
func (l *natsLog) Errorf(format string, v ...any)  { l.add(format, v...) }
func (l *natsLog) Debugf(format string, v ...any)  { l.add(format, v...) }
func (l *natsLog) Tracef(format string, v ...any)  { l.add(format, v...) }

// clusterServer starts a server with the files of deploy/compose/cluster.yml, on free ports and with one route.
func clusterServer(t *testing.T, dir, name string, route *url.URL) (*server.Server, *natsLog) {
	t.Helper()
	options, err := server.ProcessConfigFile(filepath.Join(dir, "cluster.conf"))
	if err != nil {
		t.Fatal(err)
	}
	options.ServerName, options.Host, options.Port, options.HTTPPort = name, "127.0.0.1", server.RANDOM_PORT, 0
	options.Cluster.Host, options.Cluster.Port, options.Routes = "127.0.0.1", server.RANDOM_PORT, nil
	options.JetStream, options.NoSigs = false, true
	if route != nil {
		options.Routes = []*url.URL{route}
	}
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	log := &natsLog{}
	s.SetLoggerV2(log, true, true, false)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(3 * time.Minute) {
		t.Fatal("NATS is not ready after three minutes")
	}
	return s, log
}

// With the files of 'secrets create', servers form a cluster, which a server without the password can't join. They log no password.
func TestNATSCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	succeed(t, nil, "", "secrets", "create", filepath.Join(dir, "secrets"), "--nats", "nats:4222,nats2:4222,nats3:4222")
	for name, file := range map[string]string{"callboard.conf": "nats.conf", "cluster.conf": "compose/nats.conf"} {
		if err := os.WriteFile(filepath.Join(dir, name), deployFile(t, file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options, err := server.ProcessConfigFile(filepath.Join(dir, "cluster.conf"))
	if err != nil {
		t.Fatal(err)
	}
	password := options.Cluster.Password
	first, firstLog := clusterServer(t, dir, "first", nil)
	member := options.Routes[0]
	member.Host = first.ClusterAddr().String()
	second, secondLog := clusterServer(t, dir, "second", member)
	eventstest.Eventually(t, "a route between the servers", func() bool { return first.NumRemotes() == 1 && second.NumRemotes() == 1 })
	for what, user := range map[string]*url.Userinfo{"no password": nil, "a wrong password": url.UserPassword("route", "wrong")} {
		_, log := clusterServer(t, dir, "non-member", &url.URL{Scheme: "nats", User: user, Host: member.Host})
		eventstest.Eventually(t, "a refusal of a server with "+what, func() bool { return strings.Contains(log.String(), "Authorization Violation") })
	}
	if got := first.NumRemotes(); got != 1 {
		t.Errorf("other members of the cluster = %d, want 1", got)
	}
	for name, log := range map[string]*natsLog{"first": firstLog, "second": secondLog} {
		if text := log.String(); strings.Contains(text, password) || text == "" {
			t.Errorf("the log of the %s server holds the routes' password, or is empty: %s", name, text)
		}
	}
}
