package console

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"callboard/projector/status"
)

// issue is something that an operator should look at.
type issue struct {
	Critical bool
	Subject  string
	Text     []segment
	Runbook  string // a file in the repository; empty: none
}

// segment is a part of a text: prose, or a command that stands in it between quotation marks.
type segment struct {
	Text    string
	Command bool
}

// maxIssues limits the issues, since every partition can have several.
const maxIssues = 24

func (v *view) addIssues(s snapshot) {
	if s.failure != nil {
		v.Issues = append(v.Issues, failureIssue(*s.failure))
	}
	if s.report != nil {
		v.Issues = append(v.Issues, problemIssues(s.report.Problems())...)
		v.Issues = append(v.Issues, v.partitionIssues(*s.report)...)
		v.Issues = append(v.Issues, deadLetterIssues(*s.report)...)
	}
	if len(v.Issues) > maxIssues {
		v.MoreIssues = len(v.Issues) - maxIssues
		v.Issues = v.Issues[:maxIssues]
	}
}

func newIssue(critical bool, subject, text, runbook string) issue {
	return issue{Critical: critical, Subject: subject, Text: segments(text), Runbook: runbook}
}

func failureIssue(f failure) issue {
	if f.postgres != nil {
		return newIssue(true, "PostgreSQL", f.String()+". No event is applied until it answers; then the projector goes on by itself. "+
			"Check that the server runs, and CALLBOARD_POSTGRES_URL.", "")
	}
	return newIssue(true, "Report", sentence(f.String())+". If a table is missing, run 'callboard migrate'.", "")
}

// problemIssues returns an issue for each problem. Partitions with the same problem share one.
func problemIssues(problems []string) []issue {
	ofPartition := regexp.MustCompile(`^partition (\d+)(?: is|:|,) (.*)$`)
	partitions := make(map[string][]int)
	var texts []string
	for _, problem := range problems {
		text, number := problem, -1
		if match := ofPartition.FindStringSubmatch(problem); match != nil {
			text = match[2]
			number, _ = strconv.Atoi(match[1]) // digits
		}
		if _, known := partitions[text]; !known {
			texts = append(texts, text)
		}
		partitions[text] = append(partitions[text], number)
	}
	list := make([]issue, len(texts))
	for i, text := range texts {
		runbook := ""
		if strings.HasPrefix(text, "stopped: ") {
			runbook = "deploy/runbooks/stopped-partition.md"
		}
		list[i] = newIssue(true, subjectOf(partitions[text]), sentence(text)+".", runbook)
	}
	return list
}

func (v *view) partitionIssues(r status.Report) []issue {
	var list []issue
	unowned, behind := v.inState(noOwner), v.inState(isBehind)
	if len(unowned) > 0 {
		text := fmt.Sprintf("No projector owns %s: start one with 'CALLBOARD_PARTITIONS=%s projector'.",
			pronoun(len(unowned)), numberList(unowned, ","))
		if len(unowned) == len(r.Partitions) {
			text = "No projector owns a partition: start one with 'projector'."
		}
		list = append(list, newIssue(true, subjectOf(unowned), text, ""))
	}
	if len(behind) > 0 {
		list = append(list, newIssue(false, subjectOf(behind), fmt.Sprintf(
			"The watermark is more than %s behind. 'callboard status --watch' shows the rate, and when the lag will be applied.",
			span(behindAfter.Seconds())), ""))
	}
	return list
}

func deadLetterIssues(r status.Report) []issue {
	if r.DeadLetters == 0 {
		return nil
	}
	text := plural(r.DeadLetters, "message", "messages") + " could not be applied. The list below says why, and what helps."
	return []issue{newIssue(false, "Dead letters", text, "deploy/runbooks/dead-letters.md")}
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// subjectOf names partitions; -1 stands for the projection as a whole.
func subjectOf(partitions []int) string {
	switch {
	case slices.Contains(partitions, -1):
		return "Projection"
	case len(partitions) == 1:
		return fmt.Sprintf("Partition %d", partitions[0])
	}
	return "Partitions " + numberList(partitions, ", ")
}

// sentence begins a text with a capital letter, unless it is a name in capitals.
func sentence(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// segments finds the commands in a text: they stand between single quotation marks.
func segments(text string) []segment {
	command := regexp.MustCompile(`'((?:callboard |nats |projector|CALLBOARD_)[^']*)'`)
	var list []segment
	end := 0
	for _, match := range command.FindAllStringSubmatchIndex(text, -1) {
		if match[0] > end {
			list = append(list, segment{Text: text[end:match[0]]})
		}
		list = append(list, segment{text[match[2]:match[3]], true})
		end = match[1]
	}
	if end < len(text) {
		list = append(list, segment{Text: text[end:]})
	}
	return list
}
