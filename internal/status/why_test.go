package status

import "testing"

func TestWhyARelayIsKnown(t *testing.T) {
	for _, tc := range []struct {
		r    Relay
		want string
	}{
		{Relay{}, ""},
		{Relay{Bootstrap: true}, "bootstrap relay"},
		{Relay{Want: Count{Repositories: 1}}, "named by 1 repository"},
		{Relay{Mailbox: 1}, "mailbox of 1 person"},
		{Relay{Index: true, Mailbox: 12, Want: Count{Repositories: 3}}, "index relay, named by 3 repositories, mailbox of 12 people"},
	} {
		if got := tc.r.Why(); got != tc.want {
			t.Errorf("%+v: %q", tc.r, got)
		}
	}
}
