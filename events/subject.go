package events

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Global is the subject token of what belongs to no single phone system.
const Global = "global"

const subjectRoot = "phones"

// Subject is the subject to which an entity's events are published: phones.<system>.<entity>.
func Subject(system uuid.UUID, entity Entity) string {
	return subjectRoot + "." + systemToken(system) + "." + string(entity)
}

// Partition is the partition, from 0 to partitions-1, in which the stream stores a system's events. It is the hash of NATS'
// partition() subject transform (FNV-1a over the system token).
func Partition(system uuid.UUID, partitions int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(systemToken(system)))
	return int(h.Sum32() % uint32(partitions))
}

// PartitionFilter is the filter subject of everything stored in a partition.
func PartitionFilter(partition int) string {
	return subjectRoot + "." + strconv.Itoa(partition) + ".>"
}

// subjectParts reads phones.<system>.<entity>, or phones.<partition>.<system>.<entity> as stored.
func subjectParts(subject string) (system, entity string, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 3 || len(tokens) > 4 || tokens[0] != subjectRoot {
		return "", "", false
	}
	return tokens[len(tokens)-2], tokens[len(tokens)-1], true
}

// SubjectSystem is the phone system that a subject names: [uuid.Nil] for what belongs to no single one, or to nobody.
func SubjectSystem(subject string) uuid.UUID {
	token, _, _ := subjectParts(subject)
	system, err := uuid.Parse(token)
	if err != nil {
		return uuid.Nil
	}
	return system
}

// SubjectEntity is the entity that a subject names; ok is false where it names none.
func SubjectEntity(subject string) (entity Entity, ok bool) {
	_, token, ok := subjectParts(subject)
	return Entity(token), ok && known(Entity(token))
}
