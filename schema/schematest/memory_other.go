//go:build !linux

package schematest

// freeSpace is 0: other systems have no memoryDir.
func freeSpace(string) uint64 { return 0 }
