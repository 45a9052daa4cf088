package docs

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

//go:embed openapi/*.json
var parts embed.FS

// resources are the parts' names, in the contract's order.
func resources() []string {
	return []string{
		"discovery", "phones", "phone-numbers", "extensions", "agent-configs", "call-groups", "call-menus",
		"call-logs", "call-log-reports", "call-analyses", "voicemails", "recordings",
	}
}

// description is an OpenAPI document, or a part of one, as far as it is completed here. The rest passes through.
type description struct {
	OpenAPI    string            `json:"openapi"`
	Info       json.RawMessage   `json:"info"`
	Servers    []server          `json:"servers"`
	Tags       []tag             `json:"tags"`
	Security   json.RawMessage   `json:"security"`
	Paths      ordered[pathItem] `json:"paths"`
	Components components        `json:"components"`
}

type server struct {
	URL string `json:"url"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type pathItem struct {
	Get operation `json:"get"`
}

type operation struct {
	ID          string          `json:"operationId"`
	Tags        []string        `json:"tags"`
	Summary     string          `json:"summary"`
	Description string          `json:"description"`
	Stage       Stage           `json:"x-lifecycle-stage"`
	Deprecated  bool            `json:"deprecated,omitempty"`
	Scope       string          `json:"x-required-scope,omitempty"`
	Whole       bool            `json:"x-whole-phone-system,omitempty"` // the scope is needed across the whole phone system
	Parameters  json.RawMessage `json:"parameters"`
	Responses   json.RawMessage `json:"responses"`
}

// components are by kind, then name.
type components = ordered[ordered[json.RawMessage]]

// Describe is the OpenAPI document of the approved operations, served at the base URL. An approved operation that is not
// described is an error.
func Describe(baseURL string, approvals Approvals) ([]byte, error) {
	d, err := written()
	if err != nil {
		return nil, err
	}
	d.Servers = []server{{baseURL}}
	if err := d.keep(approvals); err != nil {
		return nil, err
	}
	if err := d.prune(); err != nil {
		return nil, err
	}
	return encode(d)
}

// written is the whole description as it is in the files.
func written() (description, error) {
	d, err := part("common")
	if err != nil {
		return description{}, err
	}
	for _, name := range resources() {
		p, err := part(name)
		if err != nil {
			return description{}, err
		}
		d.Paths = append(d.Paths, p.Paths...)
		for _, kind := range p.Components {
			d.Components = joined(d.Components, kind)
		}
	}
	return d, nil
}

func part(name string) (description, error) {
	data, err := parts.ReadFile("openapi/" + name + ".json")
	if err != nil {
		return description{}, err
	}
	var d description
	if err := strictDecoder(data).Decode(&d); err != nil {
		return description{}, fmt.Errorf("%s.json: %w", name, err)
	}
	return d, nil
}

// joined adds a part's components to those of the same kind.
func joined(all components, more member[ordered[json.RawMessage]]) components {
	for i, kind := range all {
		if kind.name == more.name {
			all[i].value = append(kind.value, more.value...)
			return all
		}
	}
	return append(all, more)
}

// keep leaves the approved operations, with their stage, and the tags that they have.
func (d *description) keep(approvals Approvals) error {
	var kept ordered[pathItem]
	described, used := make(map[string]bool), make(map[string]bool)
	for _, p := range d.Paths {
		stage, approved := approvals.Stage(p.value.Get.ID)
		if !approved {
			continue
		}
		p.value.Get.Stage, p.value.Get.Deprecated = stage, stage == Deprecated
		kept = append(kept, p)
		described[p.value.Get.ID] = true
		for _, name := range p.value.Get.Tags {
			used[name] = true
		}
	}
	d.Paths = kept
	d.Tags = slices.DeleteFunc(d.Tags, func(t tag) bool { return !used[t.Name] })
	var problems []error
	for _, a := range approvals {
		if !described[a.Operation] {
			problems = append(problems, fmt.Errorf("%s is approved and not described", a.Operation))
		}
	}
	return errors.Join(problems...)
}

var referenceForm = regexp.MustCompile(`"#/components/(\w+)/(\w+)"`)

// prune leaves the components that the operations lead to. Security schemes are named without a reference and stay.
func (d *description) prune() error {
	text, err := encode(d.Paths)
	if err != nil {
		return err
	}
	reached := make(map[string]bool)
	d.reach(text, reached)
	for i, kind := range d.Components {
		if kind.name == "securitySchemes" {
			continue
		}
		d.Components[i].value = slices.DeleteFunc(kind.value, func(m member[json.RawMessage]) bool {
			return !reached[kind.name+"/"+m.name]
		})
	}
	return nil
}

// reach notes what the text refers to, and what that refers to in turn.
func (d *description) reach(text []byte, reached map[string]bool) {
	for _, match := range referenceForm.FindAllSubmatch(text, -1) {
		place := string(match[1]) + "/" + string(match[2])
		if !reached[place] {
			reached[place] = true
			d.reach(d.component(string(match[1]), string(match[2])), reached)
		}
	}
}

func (d *description) component(kind, name string) json.RawMessage {
	for _, k := range d.Components {
		for _, m := range k.value {
			if k.name == kind && m.name == name {
				return m.value
			}
		}
	}
	return nil
}
