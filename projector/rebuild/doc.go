// Package rebuild makes the projection again from the stream's first event, and holds what is served against it.
//
//	rebuild:   plan ─> fold in memory, copy ─> index ─> follow the live one ─> compare ─> switch ─> drop the old one
//	verify:    plan ─> fold in memory, compare with the rows as one snapshot has them
//	repair:    fold one phone system in memory, put it in the place of its rows
//	rollback:  follow the live one ─> switch
//
// A generation is built in a schema of its own, part by part: some phone systems, folded from nothing, are copied in one transaction
// that also says that the part is done. So whatever happens to the program, the next one goes on behind the last part. It then follows
// the live generation by its positions and never overtakes it. The switch stops the live one's commits for a moment, brings the new one
// to the same positions, and renames two schemas.
package rebuild
