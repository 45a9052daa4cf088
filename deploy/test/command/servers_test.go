package command_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/schema"
	"callboard/schema/schematest"
)

// hostileSettings are settings of a database and of its owner that change the meaning of SQL, or end what takes long.
const hostileSettings = `
	alter database %[1]s set standard_conforming_strings = off;
	alter database %[1]s set backslash_quote = off;
	alter database %[1]s set quote_all_identifiers = on;
	alter database %[1]s set search_path = elsewhere;
	alter database %[1]s set client_encoding = 'LATIN1';
	alter database %[1]s set timezone = 'Pacific/Kiritimati';
	alter database %[1]s set datestyle = 'SQL, DMY';
	alter database %[1]s set intervalstyle = 'sql_standard';
	alter database %[1]s set bytea_output = 'escape';
	alter database %[1]s set extra_float_digits = -15;
	alter database %[1]s set array_nulls = off;
	alter database %[1]s set transform_null_equals = on;
	alter database %[1]s set default_transaction_isolation = 'serializable';
	alter database %[1]s set default_transaction_deferrable = on;
	alter role postgres in database %[1]s set statement_timeout = '5ms';
	alter role postgres in database %[1]s set lock_timeout = '1ms';
	alter role postgres in database %[1]s set idle_session_timeout = '1ms';
	alter role postgres in database %[1]s set idle_in_transaction_session_timeout = '1ms'`

// An installation is the same whatever settings its database and roles have.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	f := &fleet{T: t, nats: eventstest.NewServer(t), database: schematest.NewEmpty(t), pepper: testPepper()}
	f.pool = schematest.OpenPool(t, f.database.URL(), func(c *pgxpool.Config) {
		for name, value := range map[string]string{"statement_timeout": "0", "idle_session_timeout": "0", "client_encoding": "UTF8"} {
			c.ConnConfig.RuntimeParams[name] = value
		}
	})
	f.exec(fmt.Sprintf(hostileSettings, f.pool.Config().ConnConfig.Database))

	expect(t, f.owner(), 0, `has this release's schema`, "migrate")
	f.requireDefinition()
	succeed(t, f.operator(), "", "stream", "create")
	f.startProjector()
	succeed(t, f.operator(), "", "simulate", "--systems", "1", "--calls", "200")
	f.waitUntilCaughtUp()

	// A reader answers, and its request is in the audit, on a day of the audit.
	key := issueKey(t, f.operator(), f.queryText("select id::text from projection.phone_system"), "--name", "Zoë's ☎", "--scopes", "calls:read")
	expectStatus(t, f.startReader().base+"/customer/phone-systems", key.Key, 200)
	eventstest.Eventually(t, "the request is in the audit", func() bool { return shows(t, f.operator(), "200", "keys", "audit", key.ID) })
	if days := f.queryText("select count(*)::text from access.audit_partition where name ~ '^audit_[0-9]{8}$' and past - first = '1 day'"); days == "0" {
		t.Error("days of the audit = 0, want today")
	}
	if name := f.queryText("select name from access.key"); name != "Zoë's ☎" {
		t.Errorf("name of the key = %q, want %q", name, "Zoë's ☎")
	}

	expect(t, f.owner(), 0, `No rows changed`, "rebuild")
	f.requireDefinition()
	expect(t, f.owner(), 0, noDifferences, "verify")
	expect(t, f.owner(), 0, `Rebuilt the`, "repair", "--system", f.queryText("select id::text from projection.phone_system"))
	expect(t, f.owner(), 0, `\naccess\.key +1 .*\n.*\naccess\.audit +1 `, "backup", t.TempDir()+"/backup")
	if r := command(t, f.operator(), "", "status"); r.code != 0 || strings.Contains(r.out, "DEFINITION_MISMATCH") {
		t.Errorf("status: exit code = %d: %s%s", r.code, r.out, r.err)
	}
}

// requireDefinition checks that the live generation has this release's definition.
func (f *fleet) requireDefinition() {
	f.Helper()
	if got, want := f.queryText("select encode(definition, 'hex') from projection.generation"), hex.EncodeToString(schema.Definition()); got != want {
		f.Errorf("definition = %s, want %s", got, want)
	}
}
