package schematest

import "syscall"

// freeSpace is how many bytes this user can write to the file system of path; 0 if there is no such path.
func freeSpace(path string) uint64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0
	}
	return fs.Bavail * uint64(fs.Bsize)
}
