// The handler of SIGTERM: exit_group(143) where the kernel names a sender outside the PID namespace, else nothing.
#include "textflag.h"

// func terminated() -- called by the kernel: R1 is the siginfo (code at 8, pid of the sender at 16)
TEXT ·terminated(SB), NOSPLIT|NOFRAME, $0-0
	MOVW 8(R1), R2
	MOVW 16(R1), R3
	ORR  R2, R3, R3
	CBNZ R3, inside
	MOVD $94, R8
	MOVD $143, R0
	SVC
inside:
	RET

// func restored() -- where a handler returns to: rt_sigreturn
TEXT ·restored(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $139, R8
	SVC
	BRK

DATA ·terminatedAddress(SB)/8, $·terminated(SB)
GLOBL ·terminatedAddress(SB), RODATA, $8
DATA ·restoredAddress(SB)/8, $·restored(SB)
GLOBL ·restoredAddress(SB), RODATA, $8
