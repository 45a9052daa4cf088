package readapi

import (
	"net/url"
	"regexp"

	"github.com/google/uuid"
)

// identifiers are those in a path.
type identifiers struct {
	system   uuid.UUID
	resource string // a UUID, or a recording's sid
}

var recordingSidForm = regexp.MustCompile(`^RE[A-Za-z0-9_-]{1,62}$`)

// systemVariable is the path variable that names the phone system.
const systemVariable = "phoneSystemId"

// parseIdentifiers reads a path's variables. All that are malformed are reported together.
func parseIdentifiers(variables map[string]string) (identifiers, error) {
	var ids identifiers
	var malformed []fieldProblem
	for _, name := range identifierOrder(variables) {
		if !ids.set(name, variables[name]) {
			malformed = append(malformed, fieldProblem{pointer(name), invalidFormat, "The identifier is malformed."})
		}
	}
	if malformed != nil {
		return ids, &problem{code: validationFailed, errors: malformed}
	}
	return ids, nil
}

// identifierOrder is the variables' names in the order of the path, which is the phone system and what lies under it.
func identifierOrder(variables map[string]string) []string {
	var names []string
	if _, ok := variables[systemVariable]; ok {
		names = append(names, systemVariable)
	}
	for name := range variables {
		if name != systemVariable {
			names = append(names, name)
		}
	}
	return names
}

func (i *identifiers) set(name, encoded string) bool {
	text, err := url.PathUnescape(encoded)
	if err != nil {
		return false
	}
	if name == "recordingSid" {
		i.resource = text
		return recordingSidForm.MatchString(text)
	}
	id, ok := parseUUID(text)
	if name == systemVariable {
		i.system = id
	} else {
		i.resource = id.String()
	}
	return ok
}

// parseUUID reads the form with dashes alone, in any case.
func parseUUID(text string) (uuid.UUID, bool) {
	if len(text) != len("00000000-0000-0000-0000-000000000000") {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}
