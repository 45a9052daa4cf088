//go:build linux

package load_test

import (
	"os"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
)

// observed returns settings that make PostgreSQL time statements and show plans. Both modules are PostgreSQL's own; Debian installs them
// with the server.
func observed() map[string]string {
	return map[string]string{"shared_preload_libraries": "pg_stat_statements,auto_explain", "auto_explain.log_nested_statements": "on"}
}

// observe prepares an installation with the observed settings.
func (i *installation) observe() {
	i.Helper()
	i.exec("create extension pg_stat_statements")
}

// statement is what PostgreSQL measured of a statement.
type statement struct {
	Query string
	Calls int64
	Mean  float64 // milliseconds
}

// statements returns the statements that took the most time since the last call of forgetStatements.
func (i *installation) statements() []statement {
	i.Helper()
	rows, _ := i.pool.Query(i.Context(), `
		select query, calls, mean_exec_time from pg_stat_statements
		where query not like '%pg_stat_statements%' order by total_exec_time desc limit 6`)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[statement])
	if err != nil {
		i.Fatal(err)
	}
	return list
}

func (i *installation) forgetStatements() {
	i.Helper()
	i.exec("select pg_stat_statements_reset()")
}

// pageStatement returns the statement that read calls and took the most time, empty without one.
func (i *installation) pageStatement() statement {
	i.Helper()
	for _, s := range i.statements() {
		if strings.Contains(s.Query, "call_log") {
			return s
		}
	}
	return statement{}
}

// title returns a statement's beginning: its comment, if it has one.
func (s statement) title() string {
	const most = 90
	line := strings.Join(strings.Fields(s.Query), " ")
	return line[:min(most, len(line))]
}

// plan returns the plan with which PostgreSQL executed the last statement on calls while work ran, without costs.
func (i *installation) plan(work func()) string {
	i.Helper()
	before, err := os.Stat(i.postgres.Log())
	if err != nil {
		i.Fatal(err)
	}
	i.setPlanLog("0")
	defer i.setPlanLog("-1")
	var plan string
	eventstest.Eventually(i, "PostgreSQL logs a plan", func() bool {
		work()
		text, err := os.ReadFile(i.postgres.Log())
		if err != nil {
			i.Fatal(err)
		}
		plan = lastPlan(string(text[before.Size():]))
		return plan != ""
	})
	return plan
}

// setPlanLog sets the time in ms above which plans are logged; -1: none is.
func (i *installation) setPlanLog(ms string) {
	i.Helper()
	i.exec("alter system set auto_explain.log_min_duration = " + ms)
	i.exec("select pg_reload_conf()")
}

// lastPlan returns the last plan on calls in a server log, in which the lines of an entry after its first begin with a tab.
func lastPlan(log string) string {
	costs := regexp.MustCompile(`  \(cost=[^)]*\)`)
	var last string
	for entry := range strings.SplitSeq(strings.ReplaceAll(log, "\n\t", "\v"), "\n") {
		lines := strings.Split(entry, "\v")
		var plan []string
		for _, line := range lines {
			if costs.MatchString(line) || len(plan) > 0 {
				plan = append(plan, "    "+costs.ReplaceAllString(line, ""))
			}
		}
		if text := strings.Join(plan, "\n"); strings.Contains(text, "call_log") {
			last = text
		}
	}
	return last
}
