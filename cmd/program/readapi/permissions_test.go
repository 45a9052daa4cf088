package readapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

	"callboard/cmd/program/readapi"
	"callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// restricted lets one user do what the README says that a reader needs, and everybody without a name do everything.
func restricted(o *server.Options) {
	o.Users = []*server.User{
		{Username: "everything", Password: "p"},
		{Username: "reader", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{
				"callboard.limits.>", "callboard.audit", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.CREATE.*", "$JS.API.DIRECT.GET.*",
			}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}},
	}
	o.NoAuthUser = "everything"
}

// A reader needs no more of NATS than that: it makes its streams, asks for budgets and hands over the audit.
func TestRun_RestrictedNATSUser(t *testing.T) {
	database, broker := schematest.New(t), eventstest.NewServer(t, restricted)
	stream, err := eventstest.JetStream(t, broker.URL()).CreateStream(t.Context(), audit.StreamConfig(1))
	if err != nil {
		t.Fatal(err)
	}
	c, err := configFor(strings.Replace(broker.URL(), "//", "//reader:p@", 1), database.RoleURL("callboard_reader"), t.TempDir())
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
		t.Errorf("%d, RateLimit %s", response.StatusCode, left)
	}
	eventually(t, func() error {
		info, err := stream.Info(t.Context())
		if err == nil && info.State.Msgs != 1 {
			err = fmt.Errorf("%d messages in the audit", info.State.Msgs)
		}
		return err
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
