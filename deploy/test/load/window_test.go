//go:build linux

package load_test

import (
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// pageRows is the size of the pages that are compared.
const pageRows = 100

// window is a week of a phone system's calls, which fill more than a page.
type window struct {
	system      uuid.UUID
	from, until time.Time
}

// windows returns different windows of every phone system that has some, in turn, perSystem at most.
func (i *installation) windows(perSystem int) []window {
	i.Helper()
	rows, _ := i.pool.Query(i.Context(), `
		with following as (
		  select system_id, id, created_at, lead(created_at, $1) over (partition by system_id order by created_at, id) as next_page
		  from projection.call_log
		), numbered as (
		  select system_id, created_at, row_number() over (partition by system_id order by md5(id::text)) as number
		  from following where next_page < created_at + interval '7 days'
		)
		select system_id, created_at, created_at + interval '7 days' from numbered where number <= $2 order by number, system_id`,
		pageRows, perSystem)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w window, err error) {
		err = row.Scan(&w.system, &w.from, &w.until)
		return w, err
	})
	if err != nil || len(list) == 0 {
		i.Fatalf("windows = %d, want some: %v", len(list), err)
	}
	return list
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// report is the path of the window's first report page, below that of the phone systems.
func (w window) report() string {
	return "/" + w.system.String() + "/call-log-reports?" + url.Values{
		"dateFrom": {instant(w.from)}, "dateTo": {instant(w.until)}, "limit": {strconv.Itoa(pageRows)},
	}.Encode()
}

// list is the path of the first page of the window's call logs, below that of the phone systems.
func (w window) list() string {
	return "/" + w.system.String() + "/call-logs?" + url.Values{
		"dateFrom": {instant(w.from)}, "dateTo": {instant(w.until)}, "pageSize": {strconv.Itoa(pageRows)},
	}.Encode()
}

// bare returns the function of the window's path of a bare server.
func bare(page string) func(window) string {
	return func(w window) string {
		return page + "?" + url.Values{"system": {w.system.String()}, "from": {instant(w.from)}, "until": {instant(w.until)}}.Encode()
	}
}
