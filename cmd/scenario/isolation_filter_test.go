package scenario_test

import (
	"net/url"
	"slices"
	"strings"
)

// filtered asks for every list with every set of its filters, in every phone system that a key covers, and returns how often it
// asked. What isn't an identifier fits all tenants' rows alike, so that the phone system alone keeps them apart; an identifier of
// another tenant's finds nothing.
func (r *realm) filtered(c credential) (asked int64) {
	r.t.Helper()
	description := r.description().body
	for _, o := range operations() {
		if !strings.HasPrefix(o.id, "list") || o.scope == "" || !c.unlocks(o) {
			continue
		}
		sets := filterSets(description, o)
		for _, of := range c.covers {
			for _, set := range sets {
				r.filteredBy(c, o, place{system: of}, r.query(r.tenants[of], o, set), true)
				asked++
				if slices.Contains(set, "callLogId") || slices.Contains(set, "extensionId") {
					r.filteredBy(c, o, place{system: of}, r.query(r.tenants[of].neighbour(), o, set), false)
					asked++
				}
			}
		}
	}
	return asked
}

// filteredBy asks for one list with one query, which fits its row or doesn't.
func (r *realm) filteredBy(c credential, o operation, p place, query url.Values, fits bool) {
	r.t.Helper()
	path, _, _ := strings.Cut(r.path(o, p), "?")
	path += "?" + query.Encode()
	a := r.ask(c, path)
	r.judge(path, a, "200")
	if fits {
		r.isOwn(path, a, c, o, p)
		return
	}
	r.is(path, a.body["data"], []any{})
	r.is(path, a.body["total"], 0)
}

// query gives a set of filters their values, where these are identifiers those of the giver's objects.
func (r *realm) query(giver tenant, o operation, set []string) url.Values {
	r.t.Helper()
	values := map[string]string{
		"dateFrom": "2026-01-01T00:00:00Z", "dateTo": "2100-01-01T00:00:00Z", "timeField": "updatedAt", "includeTranscripts": "true",
		"callSid": sharedSid, "callLogId": giver.object("{callLogId}", 0), "extensionId": giver.object("{extensionId}", 0),
		"status": "active", "number": "101", "phoneNumber": "+14155550100", "agentNumber": "1",
	}
	if o.id == "listCallRecordings" {
		values["status"] = "ready"
	}
	query := url.Values{}
	for _, filter := range set {
		if values[filter] == "" {
			r.t.Fatalf("%s: which rows have %s?", o.id, filter)
		}
		query.Set(filter, values[filter])
	}
	return query
}

// filterSets are all sets of a list's filters that may be asked for, as the description has them.
func filterSets(description map[string]any, o operation) [][]string {
	described, _ := at(description["paths"].(map[string]any)["/customer/phone-systems"+o.path], "get.parameters").([]any)
	sets := [][]string{nil}
	for _, parameter := range described {
		if reference, shared := step(parameter, "$ref").(string); shared {
			parameter = at(description, strings.ReplaceAll(strings.TrimPrefix(reference, "#/"), "/", "."))
		}
		name, _ := step(parameter, "name").(string)
		if step(parameter, "in") != "query" || slices.Contains([]string{"page", "pageSize", "limit", "cursor"}, name) {
			continue
		}
		with := make([][]string, len(sets))
		for i, set := range sets {
			with[i] = append(slices.Clone(set), name)
		}
		if step(parameter, "required") != true {
			with = append(sets, with...)
		}
		sets = with
	}
	return sets
}
