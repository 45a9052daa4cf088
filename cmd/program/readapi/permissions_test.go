package readapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	natsserver "github.com/nats-io/nats-server/v2/server"

	"callboard/cmd/program/readapi"
	"callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// restrictReader gives the user "reader" the permissions that the documentation lists, and clients without a user name all.
func restrictReader(o *natsserver.Options) {
	o.Users = []*natsserver.User{
		{Username: "everything", Password: "p"},
		{Username: "reader", Password: "p", Permissions: &natsserver.Permissions{
			Publish: &natsserver.SubjectPermission{Allow: []string{
				"callboard.limits.>", "callboard.audit", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.CREATE.*", "$JS.API.DIRECT.GET.*",
			}},
			Subscribe: &natsserver.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}},
	}
	o.NoAuthUser = "everything"
}

// With these permissions a reader creates its streams, uses budgets and sends audit entries.
func TestRun_RestrictedNATSUser(t *testing.T) {
	database, server := schematest.New(t), eventstest.NewServer(t, restrictReader)
	stream, err := eventstest.JetStream(t, server.URL()).CreateStream(t.Context(), audit.StreamConfig(1))
	if err != nil {
		t.Fatal(err)
	}
	c, err := configFor(strings.Replace(server.URL(), "//", "//reader:p@", 1), database.RoleURL("callboard_reader"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c.Public, c.Admin, c.LimiterTimeout = listen(t), listen(t), time.Minute
	issued, err := access.NewRegistry(database.Pool(t), c.Peppers[0]).Issue(t.Context(), access.Request{
		Name: "restricted", Grant: access.Grant{Kind: access.GrantSystem, ID: uuid.New()}, Scopes: []access.Scope{access.ScopeCalls},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- readapi.Run(ctx, c) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.Public.Addr().String()+"/v1/customer/phone-systems", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", issued.Key.Reveal())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if left := response.Header.Get("RateLimit"); response.StatusCode != http.StatusOK || !strings.HasPrefix(left, `"tier";r=119;`) {
		t.Errorf("status = %d, RateLimit = %s, want 200 and 119 left", response.StatusCode, left)
	}
	eventstest.Eventually(t, "one message in the audit stream", func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Msgs == 1
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
