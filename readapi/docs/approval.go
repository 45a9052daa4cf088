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

// Approval is a reviewed decision to publish an operation.
type Approval struct {
	Operation string `json:"operation"`
	Stage     Stage  `json:"stage"`
	Reviewer  string `json:"reviewer"` // a role
	Date      string `json:"date"`     // as 2006-01-02
}

// Approvals are the approval record. What is not in it is not published.
type Approvals []Approval

//go:embed approval.json
var approvalRecord []byte

// LoadApprovals is the record that this program was built with.
func LoadApprovals() (Approvals, error) { return ParseApprovals(approvalRecord) }

// ParseApprovals reads a record. The error names every approval that can't stand.
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
			problems = append(problems, fmt.Errorf("approval of %q: there are two", a.Operation))
		}
		seen[a.Operation] = true
	}
	return record, errors.Join(problems...)
}

func (a Approval) check() error {
	switch a.Stage {
	case Stable, Beta, Deprecated:
	default:
		return fmt.Errorf("there is no lifecycle stage %q", a.Stage)
	}
	if a.Operation == "" || a.Reviewer == "" {
		return errors.New("operation and reviewer are required")
	}
	if _, err := time.Parse(time.DateOnly, a.Date); err != nil {
		return errors.New("the date is not one such as 2026-11-20")
	}
	return nil
}

// Stage is the approved operation's stage.
func (r Approvals) Stage(operation string) (stage Stage, approved bool) {
	for _, a := range r {
		if a.Operation == operation {
			return a.Stage, true
		}
	}
	return "", false
}
