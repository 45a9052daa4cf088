package events_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"callboard/events"
)

type asyncRef struct {
	Ref string `yaml:"$ref"`
}

// asyncAPI is the document as far as its completeness goes.
type asyncAPI struct {
	AsyncAPI string `yaml:"asyncapi"`
	Channels map[string]struct {
		Address    string              `yaml:"address"`
		Parameters map[string]asyncRef `yaml:"parameters"`
		Messages   map[string]asyncRef `yaml:"messages"`
	} `yaml:"channels"`
	Operations map[string]struct {
		Action  string   `yaml:"action"`
		Channel asyncRef `yaml:"channel"`
	} `yaml:"operations"`
	Components struct {
		Messages map[string]struct {
			Name    string     `yaml:"name"`
			Traits  []asyncRef `yaml:"traits"`
			Payload struct {
				Schema asyncRef `yaml:"schema"`
			} `yaml:"payload"`
		} `yaml:"messages"`
	} `yaml:"components"`
}

func TestAsyncAPI_HasEveryEntity(t *testing.T) {
	var doc asyncAPI
	if err := yaml.Unmarshal(events.AsyncAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.AsyncAPI, "3.") {
		t.Errorf("asyncapi %q", doc.AsyncAPI)
	}
	if n := len(events.Entities()); len(doc.Channels) != n || len(doc.Operations) != n || len(doc.Components.Messages) != 2*n {
		t.Errorf("%d channels, %d operations and %d messages for %d entities",
			len(doc.Channels), len(doc.Operations), len(doc.Components.Messages), n)
	}
	for _, entity := range events.Entities() {
		name := camelCase(string(entity))
		channel := doc.Channels[name]
		system := "{system}"
		if entity == events.EntityGroup {
			system = events.Global
		}
		if channel.Address != "phones."+system+"."+string(entity) {
			t.Errorf("%s: address %q", entity, channel.Address)
		}
		if got := slices.Sorted(maps.Keys(channel.Messages)); !slices.Equal(got, []string{"changed", "deleted"}) {
			t.Errorf("%s: messages %q", entity, got)
		}
		operation := doc.Operations["receive"+strings.ToUpper(name[:1])+name[1:]]
		if operation.Action != "receive" || operation.Channel.Ref != "#/channels/"+name {
			t.Errorf("%s: operation %+v", entity, operation)
		}
		for kind, schema := range map[string]string{
			"Changed": "./schemas/" + string(entity) + ".schema.json",
			"Deleted": "./schemas/deletion.schema.json#/$defs/" + string(entity),
		} {
			message := doc.Components.Messages[name+kind]
			if want := "callboard." + string(entity) + "." + strings.ToLower(kind); message.Name != want {
				t.Errorf("message %q, want %q", message.Name, want)
			}
			if message.Payload.Schema.Ref != schema || len(message.Traits) != 1 {
				t.Errorf("%s: %+v", message.Name, message)
			}
			if ref := channel.Messages[strings.ToLower(kind)].Ref; ref != "#/components/messages/"+name+kind {
				t.Errorf("%s: the channel's message is %s", message.Name, ref)
			}
		}
	}
}

func camelCase(entity string) string {
	words := strings.Split(entity, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

func TestDocuments_ReferencesLeadSomewhere(t *testing.T) {
	documents := map[string]any{}
	err := fs.WalkDir(events.Documents(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(events.Documents(), name)
		if err != nil {
			return err
		}
		var v any
		if path.Ext(name) == ".json" {
			err = json.Unmarshal(data, &v)
		} else {
			err = yaml.Unmarshal(data, &v)
		}
		documents[name] = v
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range documents {
		eachReference(v, func(ref string) {
			file, pointer, _ := strings.Cut(ref, "#")
			target := documents[name]
			if file != "" {
				target = documents[path.Join(path.Dir(name), file)]
			}
			if !leadsSomewhere(target, pointer) {
				t.Errorf("%s: %s leads nowhere", name, ref)
			}
		})
	}
}

func eachReference(v any, check func(ref string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if ref, ok := member.(string); ok && name == "$ref" {
				check(ref)
			}
			eachReference(member, check)
		}
	case []any:
		for _, element := range v {
			eachReference(element, check)
		}
	}
}

func leadsSomewhere(v any, pointer string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if name == "" {
			continue
		}
		members, ok := v.(map[string]any)
		if !ok {
			return false
		}
		v = members[name]
	}
	return v != nil
}
