package docs

import (
	_ "embed"
	"errors"
	"fmt"
	"time"
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
func LoadApprovals() (Approvals, error) { return ParseApprovals(approvalRecord) }

// ParseApprovals parses and validates an approval record. The error names every invalid approval.
func ParseApprovals(data []byte) (Approvals, error) {
	var record Approvals
	if err := strictDecoder(data).Decode(&record); err != nil {
		return nil, fmt.Errorf("approval record: %w", err)
	}
	var problems []error
	seen := make(map[string]bool)
	for _, a := range record {
		if err := a.check(); err != nil {
			problems = append(problems, fmt.Errorf("approval of %q: %w", a.Operation, err))
		}
		if seen[a.Operation] {
			problems = append(problems, fmt.Errorf("approval of %q: the operation is approved twice", a.Operation))
		}
		seen[a.Operation] = true
	}
	return record, errors.Join(problems...)
}

func (a Approval) check() error {
	switch a.Stage {
	case Stable, Beta, Deprecated:
	default:
		return fmt.Errorf("unknown lifecycle stage %q: use stable, beta or deprecated", a.Stage)
	}
	if a.Operation == "" || a.Reviewer == "" {
		return errors.New("operation and reviewer are required")
	}
	if _, err := time.Parse(time.DateOnly, a.Date); err != nil {
		return errors.New("invalid date: write it as 2026-11-20")
	}
	return nil
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
