package deadletter

import "fmt"

// Obstacle is why no projector will ever retry a letter.
type Obstacle string

// The obstacles.
const (
	ObstacleAudit      Obstacle = "audit"      // it is the audit's, which projectors file and don't retry
	ObstacleStream     Obstacle = "stream"     // the projection is built from another stream
	ObstacleGeneration Obstacle = "generation" // it is one in a generation that isn't live
)

// Why is what the letters are that have the obstacle.
func (o Obstacle) Why() string {
	switch o {
	case ObstacleAudit:
		return "of the audit's stream, nothing of which is retried"
	case ObstacleStream:
		return "of another stream than the projection is built from"
	case ObstacleGeneration:
		return "of a generation that isn't live"
	}
	return string(o)
}

// ObstacleError is letters that were named and that nobody can retry.
type ObstacleError struct {
	ID       int64 // of the first
	Obstacle Obstacle
}

// Error says why.
func (e *ObstacleError) Error() string {
	return fmt.Sprintf("dead letter %d can't be retried: it is %s", e.ID, e.Obstacle.Why())
}
