#include "lowering/schedule/Choose.h"
