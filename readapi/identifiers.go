package readapi

import (
	"net/url"
	"regexp"

	"github.com/google/uuid"
)

// identifiers are the variables of an operation's path.
type identifiers struct {
	system uuid.UUID
	id     string // a UUID, or a recording's SID; empty for lists
}

var recordingSidForm = regexp.MustCompile(`^RE[A-Za-z0-9_-]{1,62}$`)

// systemVariable is the path variable of the phone system.
const systemVariable = "phoneSystemId"

const malformedIdentifier = "The identifier is malformed; use one that the API has returned."

// parseIdentifiers reads a path's variables. The error lists all that are malformed, the phone system's first.
func parseIdentifiers(variables map[string]string) (identifiers, error) {
	var ids identifiers
	var malformed []fieldProblem
	for name, value := range variables {
		if ids.set(name, value) {
			continue
		}

		p := fieldProblem{pointer(name), invalidFormat, malformedIdentifier}
		if name == systemVariable {
			malformed = append([]fieldProblem{p}, malformed...)
		} else {
			malformed = append(malformed, p)
		}
	}

	if malformed != nil {
		return ids, &problem{code: validationFailed, errors: malformed}
	}
	return ids, nil
}

func (i *identifiers) set(name, encoded string) bool {
	text, err := url.PathUnescape(encoded)
	if err != nil {
		return false
	}
	if name == "recordingSid" {
		i.id = text
		return recordingSidForm.MatchString(text)
	}

	id, ok := parseUUID(text)
	if name == systemVariable {
		i.system = id
	} else {
		i.id = id.String()
	}
	return ok
}

// parseUUID accepts only the form with hyphens, in either case. For any other text it returns the zero UUID.
func parseUUID(text string) (uuid.UUID, bool) {
	if len(text) != len("00000000-0000-0000-0000-000000000000") {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, false // uuid.Parse returns the digits before the error
	}
	return id, true
}
