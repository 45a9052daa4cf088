package docs

import (
	_ "embed"
	"fmt"
)

// Stage is an operation's lifecycle stage.
type Stage string

// The lifecycle stages.
const (
	Stable     Stage = "stable"
	Beta       Stage = "beta"
	Deprecated Stage = "deprecated"
)

// Approval records the reviewed decision to publish an operation.
type Approval struct {
	Operation string `json:"operation"`
	Stage     Stage  `json:"stage"`
	Reviewer  string `json:"reviewer"` // a role
	Date      string `json:"date"`     // as 2006-01-02
	Note      string `json:"note"`     // how the operation reads what the contract leaves open
}

// Approvals is the approval record. Operations without an approval are neither served nor described.
type Approvals []Approval

//go:embed approval.json
var approvalRecord []byte

// LoadApprovals returns the approval record that is embedded in this program, approval.json.
func LoadApprovals() (Approvals, error) {
	var record Approvals
	if err := strictDecoder(approvalRecord).Decode(&record); err != nil {
		return nil, fmt.Errorf("approval record: %w", err)
	}
	return record, nil
}

// Stage returns the lifecycle stage of an operation, and false if the operation is not approved.
func (r Approvals) Stage(operation string) (stage Stage, approved bool) {
	for _, a := range r {
		if a.Operation == operation {
			return a.Stage, true
		}
	}
	return "", false
}
