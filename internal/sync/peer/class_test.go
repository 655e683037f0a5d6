package peer_test

import (
	"log/slog"
	"testing"

	"github.com/graspd/graspd/internal/sync/peer"
)

// TestClassesAndLevelsHaveTheirNames: metrics and logs show them.
func TestClassesAndLevelsHaveTheirNames(t *testing.T) {
	for class, name := range map[peer.Class]string{peer.Live: "live", peer.Catchup: "catchup", peer.Daily: "daily"} {
		if class.String() != name {
			t.Errorf("the class %s is told as %s", name, class)
		}
	}
	for level, as := range map[peer.Level]slog.Level{
		peer.LevelDebug: slog.LevelDebug, peer.LevelInfo: slog.LevelInfo, peer.LevelWarn: slog.LevelWarn, peer.LevelError: slog.LevelError,
	} {
		if slog.Level(level) != as {
			t.Errorf("the level %v is logged as %v", as, slog.Level(level))
		}
	}
}
