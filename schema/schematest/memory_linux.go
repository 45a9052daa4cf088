package schematest

import "syscall"

// free is how many bytes the file system at path has left for this user; none where there is no such path.
func free(path string) uint64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0
	}
	return fs.Bavail * uint64(fs.Bsize)
}
