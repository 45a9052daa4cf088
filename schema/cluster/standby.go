package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// copyPrimary copies a running server with pg_basebackup. The copy starts as a standby that streams from it.
func (d *directory) copyPrimary(ctx context.Context, pg programs, primary string) error {
	u, err := url.Parse(primary)
	if err != nil {
		return errors.New("primary: the URL can't be parsed") // the parser's error quotes the password
	}
	password, _ := u.User.Password()
	if err := d.createStaging(password); err != nil {
		return fmt.Errorf("pg_basebackup: %w", err)
	}
	cmd := d.command(pg, "pg_basebackup",
		"--pgdata", d.staging(), "--host", u.Hostname(), "--port", u.Port(), "--username", u.User.Username(), "--no-password",
		"--wal-method", "stream", "--checkpoint", "fast", "--write-recovery-conf", "--no-sync")
	cmd.Env = append(cmd.Env, "PGPASSWORD="+password) // not an argument, which other users see
	return runQuietly(ctx, cmd)
}
