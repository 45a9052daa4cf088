package readapi

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// A new generation's columns may have other types: what was prepared for the old one is prepared anew, within the request.
func TestGeneration_OtherTypes(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	id := uuid.New()
	r.full(system, id)
	key := r.key(system)
	config := r.config.Primary.Config()
	config.MaxConns = 1 // one connection, whose statements are prepared for the old generation
	single, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(single.Close)
	r.config.Primary, r.config.Metrics = single, prometheus.NewRegistry()
	if r.handler, err = New(r.config); err != nil {
		t.Fatal(err)
	}
	path := "/customer/phone-systems/" + system.String() + "/call-logs/" + id.String()
	before := r.get(path, withKey(key))
	r.exec("alter table projection.call_log alter column outcome type varchar(40), alter column recording_sid type varchar(70)")
	after := r.get(path, withKey(key))
	if before.Code != http.StatusOK || after.Code != http.StatusOK || before.Body.String() != after.Body.String() {
		t.Errorf("before: %d, after: %d %s, %v", before.Code, after.Code, after.Body, r.log.last(t)["cause"])
	}
}

// Generations are switched by renaming schemas while requests go on, and none of them notices.
func TestGeneration_Switch(t *testing.T) {
	r := newReader(t)
	system, id := r.system("one"), uuid.New()
	r.full(system, id)
	key := r.key(system)
	r.copyGeneration("next")
	path := "/customer/phone-systems/" + system.String() + "/call-logs/" + id.String()
	want := r.get(path, withKey(key)).Body.String()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	var answers atomic.Int64
	for range 4 {
		readers.Go(func() {
			for answers.Add(1); ; answers.Add(1) {
				select {
				case <-stop:
					return
				default:
				}
				if w := r.get(path, withKey(key)); w.Code != http.StatusOK || w.Body.String() != want {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
	for range 20 {
		for seen := answers.Load(); answers.Load() < seen+8; {
			runtime.Gosched()
		}
		r.exec(`begin;
			alter schema projection rename to previous;
			alter schema next rename to projection;
			alter schema previous rename to next;
			commit`)
	}
	close(stop)
	readers.Wait()
}

// copyGeneration makes a copy of the projection in another schema.
func (r *reader) copyGeneration(name string) {
	r.Helper()
	r.exec(`do $$
		declare
		  source record;
		begin
		  create schema ` + name + `;
		  for source in select tablename from pg_tables where schemaname = 'projection' loop
		    execute format('create table ` + name + `.%I (like projection.%I including all)', source.tablename, source.tablename);
		    execute format('insert into ` + name + `.%I select * from projection.%I', source.tablename, source.tablename);
		  end loop;
		  grant usage on schema ` + name + ` to callboard_reader;
		  grant select on all tables in schema ` + name + ` to callboard_reader;
		end
		$$`)
}
