package scenario_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// auditRow is the audit's row of a request.
type auditRow struct {
	Operation string
	System    uuid.NullUUID
	Status    int
	Code      string
	Address   string
	RequestID string
}

// auditRows returns the audit's rows of a key by request id.
func (h *harness) auditRows(key uuid.UUID) []auditRow {
	h.Helper()
	rows, _ := h.Pool.Query(h.Context(), `
		select operation, system_id, status, coalesce(code, ''), coalesce(host(address), ''), request_id
		from access.audit where key_id = $1 order by request_id`, key)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[auditRow])
	if err != nil {
		h.Fatal(err)
	}
	return list
}

// auditedClient sends requests with one key, and knows the rows that the audit must have of them.
type auditedClient struct {
	*fixture
	issued access.IssuedKey
	want   []auditRow
}

// request requests a path of an operation.
func (c *auditedClient) request(operation, path string, system uuid.UUID, status int, code string) {
	c.Helper()
	id := fmt.Sprintf("audited-%04d", len(c.want))
	header := keyHeader(c.issued.Key)
	header.Set("X-Request-Id", id)
	if a := c.send(c.url(path), header); a.status != status {
		c.Errorf("%s: outcome = %s, want %d", path, a.outcome(), status)
	}
	c.want = append(c.want, auditRow{
		operation, uuid.NullUUID{UUID: system, Valid: system != uuid.Nil}, status, code, "127.0.0.1", id,
	})
}

// expectRows waits until the audit has as many rows as requests were sent, and compares them.
func (c *auditedClient) expectRows() {
	c.Helper()
	eventstest.Eventually(c.TB, "the audit has a row for every request", func() bool { return len(c.auditRows(c.issued.ID)) >= len(c.want) })
	c.equalJSON("the audit", c.auditRows(c.issued.ID), c.want)
}

// checkAudit sends requests that succeed and requests that fail, and compares their rows in the audit.
func (f *fixture) checkAudit() {
	start := time.Now().Add(-time.Second)
	c := &auditedClient{fixture: f, issued: f.issue(access.KeySpec{Grant: f.harbourGrant()})}
	for _, o := range operations() {
		system := f.harbour
		if o.scope == "" {
			system = uuid.Nil
		}
		c.request(o.id, f.example(o), system, 200, "")
	}
	c.request("getPhone", f.harbourPath("/phones/x"), f.harbour, 400, "VALIDATION_FAILED")
	c.request("listPhones", "/x/phones", uuid.Nil, 400, "VALIDATION_FAILED")
	c.request("none", f.harbourPath("/faxes"), uuid.Nil, 404, "NOT_FOUND")
	c.request("listPhones", "/"+f.annex.String()+"/phones", f.annex, 404, "NOT_FOUND")
	c.request("getCallRecordingUrl", f.harbourPath("/recordings/"+processingRecording+"/url"), f.harbour, 409, "RECORDING_NOT_READY")
	f.revoke(c.issued.ID)
	c.request("listPhones", f.harbourPath("/phones"), f.harbour, 401, "UNAUTHENTICATED")
	c.expectRows()
	f.checkLastUse(c.issued.ID, start)
}

// checkLastUse checks the last use that operators are shown.
func (f *fixture) checkLastUse(id uuid.UUID, since time.Time) {
	f.Helper()
	shown, err := f.registry.Show(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	if shown.LastUsedAt == nil || shown.LastUsedAt.Before(since) || shown.LastUsedAt.After(time.Now()) || shown.LastUsedAddress.String() != "127.0.0.1" {
		f.Errorf("last use = %v from %v, want after %s from 127.0.0.1", shown.LastUsedAt, shown.LastUsedAddress, since)
	}
}
