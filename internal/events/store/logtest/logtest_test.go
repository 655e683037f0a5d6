package logtest_test

import (
	"testing"

	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
)

func TestContractInMemory(t *testing.T) {
	logtest.Contract(t, func(testing.TB) commitlog.Log { return new(logtest.Memory) })
}

func TestContractInADirectory(t *testing.T) {
	logtest.Contract(t, func(t testing.TB) commitlog.Log { return logtest.Directory(t.TempDir()) })
}
