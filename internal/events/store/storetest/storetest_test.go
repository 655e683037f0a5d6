package storetest_test

import (
	"testing"

	"github.com/graspd/graspd/internal/events/store/storetest"
)

// The model must keep the contract too, or comparing with it proves nothing.
func TestModel(t *testing.T) { storetest.Run(t, new(storetest.ModelDisk)) }
