package main

import (
	"reflect"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// What 'stream users' prints is a part of a configuration, with the users of deploy/nats.conf, whose permissions other tests prove.
func TestStreamUsers(t *testing.T) {
	t.Parallel()
	printed := command(t, nil, "", "stream", "users")
	if printed.code != 0 {
		t.Fatalf("exit code = %d: %s", printed.code, printed.err)
	}
	got := permissionsByUser(deployNATS(t, []byte("include \"secrets/nats-passwords.conf\"\njetstream: enabled\n"+printed.out)))
	want := permissionsByUser(newDeployedNATS(t))
	if len(want) < 8 || !reflect.DeepEqual(got, want) {
		t.Errorf("users = %v, want those of deploy/nats.conf: %v", got, want)
	}
}

func permissionsByUser(n *deployedNATS) map[string]server.Permissions {
	found := make(map[string]server.Permissions)
	for _, user := range n.options.Users {
		found[user.Username] = *user.Permissions
	}
	return found
}
