package scenario_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/readapi/access"
)

// record is what the audit has of one request.
type record struct {
	Operation string
	System    uuid.NullUUID
	Status    int
	Code      string
	Address   string
	RequestID string
}

// audited is what the audit has of a key, by request id.
func (s *stage) audited(key uuid.UUID) []record {
	s.t.Helper()
	rows, err := s.pool.Query(s.t.Context(), `
		select operation, system_id, status, coalesce(code, ''), coalesce(host(address), ''), request_id
		from access.audit where key_id = $1 order by request_id`, key)
	if err != nil {
		s.t.Fatal(err)
	}
	records, err := pgx.CollectRows(rows, pgx.RowToStructByPos[record])
	if err != nil {
		s.t.Fatal(err)
	}
	return records
}

// trail sends requests of one key and knows what the audit must have of them.
type auditTrail struct {
	*world
	issued access.IssuedKey
	want   []record
}

// ask reads a path below /customer/phone-systems as the operation that it is.
func (r *auditTrail) ask(operation, path string, system uuid.UUID, status int, code string) {
	r.t.Helper()
	id := fmt.Sprintf("trail-%04d", len(r.want))
	header := keyed(r.issued.Key)
	header.Set("X-Request-Id", id)
	if a := r.send(http.MethodGet, r.url(path), header); a.status != status {
		r.t.Errorf("%s: %s, want %d", path, a.verdict(), status)
	}
	r.want = append(r.want, record{
		operation, uuid.NullUUID{UUID: system, Valid: system != uuid.Nil}, status, code, "127.0.0.1", id,
	})
}

func (r *auditTrail) recorded() {
	r.t.Helper()
	r.eventually("records", func() string { return strconv.Itoa(len(r.audited(r.issued.ID))) }, strconv.Itoa(len(r.want)))
	r.is("the audit", fmt.Sprint(r.audited(r.issued.ID)), fmt.Sprint(r.want))
}

// everyRequestIsRecorded sends requests that are allowed and requests that are denied, for every reason there is.
func everyRequestIsRecorded(w *world) {
	began := time.Now().Add(-time.Second)
	r := &auditTrail{world: w, issued: w.issue(time.Time{})}
	for _, o := range operations() {
		system := w.harbour
		if o.scope == "" {
			system = uuid.Nil
		}
		r.ask(o.id, w.example(o), system, 200, "")
	}
	never := uuid.New()
	r.ask("listPhones", w.home("/phones?colour=red"), w.harbour, 400, "VALIDATION_FAILED")
	r.ask("getPhone", w.home("/phones/x"), w.harbour, 400, "VALIDATION_FAILED")
	r.ask("listPhones", "/x/phones", uuid.Nil, 400, "VALIDATION_FAILED")
	r.ask("getPhone", w.home("/phones/"+never.String()), w.harbour, 404, "NOT_FOUND")
	r.ask("listPhones", "/"+w.annex.String()+"/phones", w.annex, 404, "NOT_FOUND")
	r.ask("listPhones", "/"+never.String()+"/phones", never, 404, "NOT_FOUND")
	r.ask("getCallRecordingUrl", w.home("/recordings/"+bareSound+"/url"), w.harbour, 409, "RECORDING_NOT_READY")
	w.revoke(r.issued.ID)
	r.ask("listPhones", w.home("/phones"), w.harbour, 401, "UNAUTHENTICATED")
	r.recorded()
	w.lastUsed(r.issued.ID, began)

	scopeless := &auditTrail{world: w, issued: w.issued(access.Request{Scopes: []access.Scope{access.ScopePhones}})}
	scopeless.ask("listCallLogReports", w.home("/call-log-reports?"+march), w.harbour, 403, "INSUFFICIENT_SCOPE")
	scopeless.recorded()
	stranger := &auditTrail{world: w, issued: w.issued(access.Request{
		Scopes: access.Scopes(), Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")},
	})}
	stranger.ask("listPhones", w.home("/phones"), w.harbour, 403, "ADDRESS_NOT_ALLOWED")
	stranger.recorded()
	w.lastUsed(stranger.issued.ID, began)

	// A request that doesn't hold the key is none of the key's.
	w.judge("forged", w.presenting("X-API-Key", forged(stranger.issued.Key), w.home("/phones")), "401 UNAUTHENTICATED")
	stranger.ask("listPhones", w.home("/phones"), w.harbour, 403, "ADDRESS_NOT_ALLOWED")
	stranger.recorded()
}

func (w *world) issued(request access.Request) access.IssuedKey {
	w.t.Helper()
	request.Name, request.Grant = "issued", w.harbourAlone()
	issued, err := w.registry.Issue(w.t.Context(), request)
	if err != nil {
		w.t.Fatal(err)
	}
	return issued
}

// lastUsed holds what operators are shown of a key's use against this machine's address and the time since.
func (w *world) lastUsed(id uuid.UUID, since time.Time) {
	w.t.Helper()
	shown, err := w.registry.Show(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	if shown.LastUsedAt == nil || shown.LastUsedAt.Before(since) || shown.LastUsedAt.After(time.Now()) || shown.LastUsedAddress.String() != "127.0.0.1" {
		w.t.Errorf("last used at %v from %v", shown.LastUsedAt, shown.LastUsedAddress)
	}
}
