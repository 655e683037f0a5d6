package storetest

import "testing"

// Run runs the contract, each case on a fresh disk.
func Run(t *testing.T, disk Disk) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"batch", batchCases}, {"feed", feedCases}, {"query", queryCases}, {"replace", replaceCases},
		{"delete", deleteCases}, {"unused", unusedCases}, {"expire", expireCases}, {"remember", rememberCases}, {"forget", forgetCases}, {"wait", waitCases},
		{"lookup", lookupCases}, {"about", aboutCases},
		{"count", countCases},
		{"vanish", vanishCases},
		{"row", rowCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, disk.Fresh(t)) })
			}
		})
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, d Disk)
}
