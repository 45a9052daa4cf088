package readapi

import (
	"errors"
	"fmt"
	"slices"

	"callboard/readapi/docs"
)

// published are the register's operations that the approval record lists. An approval of an operation that the register does
// not have is an error.
func published(register []operation, approvals docs.Approvals) ([]operation, error) {
	var problems []error
	for _, a := range approvals {
		if !slices.ContainsFunc(register, func(o operation) bool { return o.ID == a.Operation }) {
			problems = append(problems, fmt.Errorf("approval of %q: there is no such operation", a.Operation))
		}
	}
	kept := slices.DeleteFunc(slices.Clone(register), func(o operation) bool {
		_, approved := approvals.Stage(o.ID)
		return !approved
	})
	return kept, errors.Join(problems...)
}
