// The handler of SIGTERM: exit_group(143) where the kernel names a sender outside the PID namespace, else nothing.
#include "textflag.h"

// func terminated() -- called by the kernel: SI is the siginfo (code at 8, pid of the sender at 16)
TEXT ·terminated(SB), NOSPLIT|NOFRAME, $0-0
	MOVL 8(SI), AX
	ORL  16(SI), AX
	JNE  inside
	MOVL $231, AX
	MOVL $143, DI
	SYSCALL
inside:
	RET

// func restored() -- where a handler returns to: rt_sigreturn
TEXT ·restored(SB), NOSPLIT|NOFRAME, $0-0
	MOVL $15, AX
	SYSCALL
	INT  $3

DATA ·terminatedAddress(SB)/8, $·terminated(SB)
GLOBL ·terminatedAddress(SB), RODATA, $8
DATA ·restoredAddress(SB)/8, $·restored(SB)
GLOBL ·restoredAddress(SB), RODATA, $8
