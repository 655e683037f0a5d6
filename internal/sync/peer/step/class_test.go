package step_test

import (
	"log/slog"
	"testing"

	"github.com/graspd/graspd/internal/sync/peer/step"
)

// TestClassesAndLevelsHaveTheirNames: metrics and logs show them.
func TestClassesAndLevelsHaveTheirNames(t *testing.T) {
	for class, name := range map[step.Class]string{step.Live: "live", step.Catchup: "catchup", step.Daily: "daily"} {
		if class.String() != name {
			t.Errorf("the class %s is told as %s", name, class)
		}
	}
	for level, as := range map[step.Level]slog.Level{
		step.Debug: slog.LevelDebug, step.Info: slog.LevelInfo, step.Warn: slog.LevelWarn, step.Error: slog.LevelError,
	} {
		if slog.Level(level) != as {
			t.Errorf("the level %v is logged as %v", as, slog.Level(level))
		}
	}
}
