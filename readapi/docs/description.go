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
var files embed.FS

//go:embed openapi/introduction.md
var introduction string

// resources are the names of the description's files beside common.json, in the contract's order.
func resources() []string {
	return []string{
		"discovery", "phones", "phone-numbers", "extensions", "agent-configs", "call-groups", "call-menus",
		"call-logs", "call-log-reports", "call-analyses", "voicemails", "recordings",
	}
}

// description is an OpenAPI document, or one file of it. Members that this package does not change are raw.
type description struct {
	OpenAPI    string            `json:"openapi"`
	Info       info              `json:"info"`
	Servers    []server          `json:"servers"`
	Tags       []tag             `json:"tags"`
	Security   json.RawMessage   `json:"security"`
	Paths      ordered[pathItem] `json:"paths"`
	Components components        `json:"components"`
}

type info struct {
	Title       string          `json:"title"`
	Summary     string          `json:"summary"`
	Description string          `json:"description"` // introduction.md
	Contact     json.RawMessage `json:"contact"`
	License     json.RawMessage `json:"license"`
	Version     string          `json:"version"`
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
	Whole       bool            `json:"x-whole-phone-system,omitempty"` // a key that is narrowed to one extension is refused
	Parameters  json.RawMessage `json:"parameters"`
	Responses   json.RawMessage `json:"responses"`
}

// components are keyed by kind, then by name.
type components = ordered[ordered[json.RawMessage]]

// Describe returns the OpenAPI document of the approved operations, with the base URL as its only server. It returns an
// error if an approved operation has no description.
func Describe(baseURL string, approvals Approvals) ([]byte, error) {
	d, err := readFiles()
	if err != nil {
		return nil, err
	}
	d.Servers = []server{{baseURL}}
	if err := d.selectApproved(approvals); err != nil {
		return nil, err
	}
	if err := d.dropUnusedComponents(); err != nil {
		return nil, err
	}
	return encode(d)
}

// readFiles merges all files into one description.
func readFiles() (description, error) {
	d, err := readFile("common")
	if err != nil {
		return description{}, err
	}
	d.Info.Description = introduction

	for _, name := range resources() {
		resource, err := readFile(name)
		if err != nil {
			return description{}, err
		}

		d.Paths = append(d.Paths, resource.Paths...)
		for _, kind := range resource.Components {
			d.Components = addComponents(d.Components, kind)
		}
	}
	return d, nil
}

func readFile(name string) (description, error) {
	data, err := files.ReadFile("openapi/" + name + ".json")
	if err != nil {
		return description{}, err
	}
	var d description
	if err := strictDecoder(data).Decode(&d); err != nil {
		return description{}, fmt.Errorf("%s.json: %w", name, err)
	}
	return d, nil
}

// addComponents appends components to those of the same kind.
func addComponents(all components, more member[ordered[json.RawMessage]]) components {
	for i, kind := range all {
		if kind.name == more.name {
			all[i].value = append(kind.value, more.value...)
			return all
		}
	}
	return append(all, more)
}

// selectApproved removes operations that are not approved and tags that no approved operation has. It sets each
// operation's lifecycle stage.
func (d *description) selectApproved(approvals Approvals) error {
	var selected ordered[pathItem]
	described, used := make(map[string]bool), make(map[string]bool)
	for _, p := range d.Paths {
		stage, approved := approvals.Stage(p.value.Get.ID)
		if !approved {
			continue
		}

		p.value.Get.Stage, p.value.Get.Deprecated = stage, stage == Deprecated
		selected = append(selected, p)

		described[p.value.Get.ID] = true
		for _, name := range p.value.Get.Tags {
			used[name] = true
		}
	}

	d.Paths = selected
	d.Tags = slices.DeleteFunc(d.Tags, func(t tag) bool { return !used[t.Name] })

	// An operation that is served must be described.
	var problems []error
	for _, a := range approvals {
		if !described[a.Operation] {
			problems = append(problems, fmt.Errorf("%s is approved but not described", a.Operation))
		}
	}
	return errors.Join(problems...)
}

var referenceForm = regexp.MustCompile(`"#/components/(\w+)/(\w+)"`)

// dropUnusedComponents removes the components that no operation references, directly or through other components.
// Security schemes are named without a reference, so all of them stay.
func (d *description) dropUnusedComponents() error {
	text, err := encode(d.Paths)
	if err != nil {
		return err
	}

	used := make(map[string]bool)
	d.addReferences(text, used)

	for i, kind := range d.Components {
		if kind.name == "securitySchemes" {
			continue
		}
		d.Components[i].value = slices.DeleteFunc(kind.value, func(m member[json.RawMessage]) bool {
			return !used[kind.name+"/"+m.name]
		})
	}
	return nil
}

// addReferences adds the components that the text references to used, and those that they reference in turn.
func (d *description) addReferences(text []byte, used map[string]bool) {
	for _, match := range referenceForm.FindAllSubmatch(text, -1) {
		kind, name := string(match[1]), string(match[2])
		if key := kind + "/" + name; !used[key] {
			used[key] = true
			d.addReferences(d.component(kind, name), used)
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
