// Package upgrade holds the test of an upgrade and of the way back. Programs of the previous release and of this one serve together, on a
// database that this release has migrated, while events arrive and clients read.
//
// testdata/previous-release has the commit of the previous release. Its programs are built from the repository, so the test needs a full
// clone. It takes minutes and runs with -upgrade only:
//
//	go test ./cmd/upgrade -upgrade
package upgrade
