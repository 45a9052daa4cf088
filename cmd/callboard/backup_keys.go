package main

import (
	"errors"
	"os"
	"path/filepath"
)

// keysFile is the list of keys in the folder of all backups.
const keysFile = "keys.json"

// writeKeyList replaces the list of keys in the folder of all backups. It is the old or the new one at every moment.
func writeKeyList(dir string, list []byte) (path string, err error) {
	path = filepath.Join(dir, keysFile)
	fresh := path + partialSuffix
	if err := errors.Join(os.MkdirAll(dir, 0o700), removeFile(fresh)); err != nil {
		return path, err
	}
	file, err := createBackupFile(dir, filepath.Base(fresh))
	if err != nil {
		return path, err
	}
	_, err = file.Write(list)
	if err := errors.Join(err, file.close()); err != nil {
		return path, err
	}
	return path, errors.Join(os.Rename(fresh, path), syncDir(dir))
}

// removeFile removes a file that an earlier run may have left.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
