package scenario_test

import (
	"maps"
	"slices"
	"strings"

	"callboard/readapi/docs"
)

// described are the published operations by identifier.
func (w *world) described() map[string]map[string]any {
	w.t.Helper()
	all := make(map[string]map[string]any)
	paths, _ := w.description().body["paths"].(map[string]any)
	for _, item := range paths {
		for _, o := range item.(map[string]any) {
			o, _ := o.(map[string]any)
			id, _ := o["operationId"].(string)
			all[id] = o
		}
	}
	return all
}

// resolved is what a part of the description refers to, or that part.
func resolved(document, part any) any {
	if reference, ok := step(part, "$ref").(string); ok {
		return at(document, strings.ReplaceAll(strings.TrimPrefix(reference, "#/"), "/", "."))
	}
	return part
}

// versionInTheURL holds all URLs that customers are given for operations against the major version.
func versionInTheURL(w *world) {
	w.is("the servers", w.description().body["servers"], []fields{{"url": w.api.URL + "/v1"}})
	c := w.crowd(2)
	for _, list := range standardLists() {
		if next := w.get(c.key, c.path(list+"?pageSize=1")).next(); !strings.HasPrefix(next, w.api.URL+"/v1/customer/phone-systems/"+c.system.String()+list+"?") {
			w.t.Errorf("%s goes on at %q", list, next)
		}
	}
	for _, version := range []string{"", "/v0", "/v2", "/V1", "/v1.0"} {
		w.judge(version, w.send("GET", w.api.URL+version+"/customer/phone-systems", keyed(w.key)), "404 NOT_FOUND")
	}
}

func stableIdentifiers(w *world) {
	want := make([]string, 0, 24)
	for _, o := range operations() {
		want = append(want, o.id)
	}
	w.same("identifiers", slices.Sorted(maps.Keys(w.described())), slices.Sorted(slices.Values(want)))
}

// beta holds the published stages, and the approval record's, against the one that all have.
func beta(w *world) {
	publishedOperations(w)
	approvals, err := docs.LoadApprovals()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range approvals {
		if a.Stage != docs.Beta || a.Reviewer == "" || a.Date == "" {
			w.t.Errorf("approved: %+v", a)
		}
	}
	if len(approvals) != 24 {
		w.t.Errorf("%d operations are approved", len(approvals))
	}
	for stage, accepted := range map[string]bool{"stable": true, "beta": true, "deprecated": true, "alpha": false, "": false, "Beta": false} {
		_, err := docs.ParseApprovals([]byte(`[{"operation":"listPhones","stage":"` + stage + `","reviewer":"R","date":"2026-11-20"}]`))
		if (err == nil) != accepted {
			w.t.Errorf("stage %q: %v", stage, err)
		}
	}
}

// documented holds what is said of each operation against the answers that the contract has for it.
func documented(w *world) {
	document := w.description().body
	for _, o := range operations() {
		said := w.described()[o.id]
		for _, text := range []string{"summary", "description"} {
			if words, _ := said[text].(string); strings.TrimSpace(words) == "" {
				w.t.Errorf("%s has no %s", o.id, text)
			}
		}
		want := []string{"200", "400", "401", "403", "429"}
		if o.scope != "" {
			want = append(want, "404")
			if said["x-required-scope"] != string(o.scope) || !slices.Contains(issuable(), o.scope) {
				w.t.Errorf("%s needs %v", o.id, said["x-required-scope"])
			}
		}
		if isReport(o) {
			want = append(want, "413")
		}
		switch o.id {
		case "getCallRecordingUrl":
			want = append(want, "409")
		case "getCallLogReportDimensions":
			want = append(want, "503")
		}
		responses, _ := said["responses"].(map[string]any)
		for _, status := range want {
			content, _ := at(resolved(document, responses[status]), "content").(map[string]any)
			media := "application/problem+json"
			if status == "200" {
				media = "application/json"
			}
			if schema, _ := step(content[media], "schema").(map[string]any); len(content) != 1 || len(schema) == 0 {
				w.t.Errorf("%s: %s is %v", o.id, status, content)
			}
		}
	}
}

func openAPI31(w *world) {
	a := w.description()
	w.judge("openapi.json", a, "200")
	version, _ := a.body["openapi"].(string)
	if !strings.HasPrefix(version, "3.1.") || a.header.Get("Content-Type") != "application/json" {
		w.t.Errorf("openapi %q as %s", version, a.header.Get("Content-Type"))
	}
	w.is("the servers", a.body["servers"], []fields{{"url": w.api.URL + "/v1"}})
	schemes, _ := at(a.body, "components.securitySchemes").(map[string]any)
	found := false
	for _, scheme := range schemes {
		found = found || step(scheme, "in") == "header" && step(scheme, "name") == "X-API-Key"
	}
	if !found {
		w.t.Errorf("the security schemes are %v", schemes)
	}
}

// approvedAlone holds what is published and what answers against the approval record.
func approvedAlone(w *world) {
	approvals, err := docs.LoadApprovals()
	if err != nil {
		w.t.Fatal(err)
	}
	var approved []string
	for _, a := range approvals {
		approved = append(approved, a.Operation)
	}
	w.same("published", slices.Sorted(maps.Keys(w.described())), slices.Sorted(slices.Values(approved)))
	the24Paths(w)
}
