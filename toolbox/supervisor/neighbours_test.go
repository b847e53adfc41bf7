// Tests of the addresses that neighbours have over IPv6.
package main

import (
	"reflect"
	"testing"
)

func TestNeighboursHaveTheAddressesThatTheirCardsGiveThemGatewaysFirst(t *testing.T) {
	routes := `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth1	00000000	0701F40A	0003	0	0	0	00000000	0	0	0
`
	table := `IP address       HW type     Flags       HW address            Mask     Device
10.244.1.1       0x1         0x2         ee:ee:ee:ee:ee:ee     *        eth0
10.244.1.9       0x1         0x0         00:00:00:00:00:00     *        eth0
10.244.1.7       0x1         0x2         52:54:00:12:34:56     *        eth1
`
	want := []string{"fe80::5054:ff:fe12:3456%eth1", "fe80::ecee:eeff:feee:eeee%eth0"}
	if got := linkLocalOf(table, gatewaysOf(routes)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := linkLocalOf("nonsense\na b c d e f\n", nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
