package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

const (
	fetchVersion  = embeddedpostgres.V17
	fetchUpstream = "https://repo1.maven.org/maven2"
)

// fetch returns the downloaded PostgreSQL, downloading it when it is not there yet.
func fetch(ctx context.Context, config Config, owner account) (install, error) {
	dir, err := fetchDir(config.FetchDir, owner)
	if err != nil {
		return install{}, err
	}
	// Another program may be downloading the same.
	lock, err := waitLock(ctx, dir)
	if err != nil {
		return install{}, err
	}
	defer lock.Close()
	programs := filepath.Join(dir, "programs")
	pg, err := inspect(ctx, filepath.Join(programs, "bin"), owner)
	if err == nil {
		return pg, nil
	}
	config.Progress(fmt.Sprintf("fetching PostgreSQL %s", fetchVersion))
	if err := download(ctx, fetchUpstream, programs, config.Progress); err != nil {
		return install{}, err
	}
	return inspect(ctx, filepath.Join(programs, "bin"), owner)
}

// fetchDir makes the folder that the download is kept in, where the server's user can reach it.
func fetchDir(dir string, owner account) (string, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cache, "callboard")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path, err := canonical(filepath.Join(dir, "postgresql-"+string(fetchVersion)))
	if err != nil {
		return "", err
	}
	if !owner.canEnter(filepath.Dir(path)) {
		path = refuge(path)
		if err := enterRefuge(path, owner); err != nil {
			return "", err
		}
	} else if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return path, os.Chmod(path, 0o755) // whatever the umask
}

func waitLock(ctx context.Context, dir string) (*os.File, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := lockDir(dir)
		if !errors.Is(err, ErrInUse) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// download puts PostgreSQL's programs into the folder, which appears when they are complete.
//
// The library has no function for that alone, so it is told to run a server on a
// folder that looks like a data directory and is none: it downloads, unpacks,
// and fails to start it.
func download(ctx context.Context, upstream, programs string, progress func(string)) error {
	work, err := os.MkdirTemp(filepath.Dir(programs), "work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	major, _, _ := strings.Cut(string(fetchVersion), ".")
	bogus := filepath.Join(work, "data")
	err = errors.Join(os.Mkdir(bogus, 0o700), os.WriteFile(filepath.Join(bogus, versionFile), []byte(major), 0o600))
	if err != nil {
		return err
	}
	r, err := startRelay(ctx, upstream, progress)
	if err != nil {
		return err
	}
	defer r.close()
	unpacked := filepath.Join(work, "unpacked")
	database := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(fetchVersion).BinaryRepositoryURL(r.url).Port(0).Logger(io.Discard).
		CachePath(filepath.Join(work, "archive")).RuntimePath(filepath.Join(work, "run")).
		BinariesPath(unpacked).DataPath(bogus))
	err = database.Start()
	if err == nil {
		return errors.Join(errors.New("a server runs without data"), database.Stop())
	}
	if !strings.HasPrefix(err.Error(), "could not start postgres") {
		return errors.Join(r.failure(), err)
	}
	return errors.Join(openToAll(unpacked), os.RemoveAll(programs), os.Rename(unpacked, programs))
}

// openToAll undoes a umask that keeps the server's user away from the programs.
func openToAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode)
	})
}
