// Tests of the watch over what comes from outside: who is woken, who is ended, and who is let alone.
package main

import (
	"os/exec"
	"reflect"
	"syscall"
	"testing"
	"time"
)

var begun = time.Unix(1_000_000, 0)

// looks has an outsiders look at the same processes at each of the times, and gives the last look's answer.
func looks(o *outsiders, all []process, at ...time.Duration) (stopped, late []int) {
	for _, after := range at {
		stopped, late = o.look(all, begun.Add(after))
	}
	return stopped, late
}

func TestOnlyWhatWasStoppedOnItsWayFromOutsideIsWoken(t *testing.T) {
	all := []process{
		{pid: 1, parent: 0}, {pid: 7, parent: 0, stopped: true}, {pid: 8, parent: 0}, {pid: 9, parent: 1, stopped: true},
		{pid: 10, parent: 0, zombie: true},
	}
	stopped, late := looks(&outsiders{peers: newPeers()}, all, 0)
	if !reflect.DeepEqual(stopped, []int{7}) || late != nil {
		t.Errorf("stopped %v, late %v", stopped, late)
	}
}

func TestWhatIsKeptStoppedOnItsWayIsEnded(t *testing.T) {
	o := &outsiders{peers: newPeers()}
	if _, late := looks(o, []process{{pid: 7, stopped: true}}, 0, stoppedLimit); late != nil {
		t.Errorf("late %v", late)
	}
	// Found awake it has not come through for that.
	if _, late := looks(o, []process{{pid: 7}}, stoppedLimit+1); !reflect.DeepEqual(late, []int{7}) {
		t.Errorf("late %v", late)
	}
}

func TestWhatDoesNotComeToPID1InTimeIsEnded(t *testing.T) {
	o := &outsiders{peers: newPeers()}
	if _, late := looks(o, []process{{pid: 7}}, 0, comingLimit); late != nil {
		t.Errorf("late %v", late)
	}
	if _, late := looks(o, []process{{pid: 7}, {pid: 8}}, comingLimit+1); !reflect.DeepEqual(late, []int{7}) {
		t.Errorf("late %v", late)
	}
}

func TestWhatIsThroughIsLetAloneAndHasTimeToLeave(t *testing.T) {
	o := &outsiders{peers: newPeers()}
	o.peers.add(7)
	all := []process{{pid: 7, stopped: true}}
	o.peers.letThrough(7)
	if stopped, late := looks(o, all, 0, time.Hour); !reflect.DeepEqual(stopped, []int{7}) || late != nil {
		t.Errorf("stopped %v, late %v", stopped, late)
	}
	o.peers.remove(7)
	if _, late := looks(o, []process{{pid: 7}}, time.Hour+stoppedLimit); late != nil {
		t.Errorf("late %v", late)
	}
}

func TestAPidThatSomebodyElseHasByNowBeginsAnew(t *testing.T) {
	o := &outsiders{peers: newPeers()}
	looks(o, []process{{pid: 7, stopped: true}}, 0)
	looks(o, nil, time.Second)
	if _, late := looks(o, []process{{pid: 7}}, comingLimit+1); late != nil {
		t.Errorf("late %v", late)
	}
}

func TestAWakeEndsWithTheProcess(t *testing.T) {
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// It has a parent: woken once, as one whose pid somebody else has by now.
	(&outsiders{peers: newPeers()}).wake([]int{command.Process.Pid}, time.Now().Add(time.Hour))
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
}
