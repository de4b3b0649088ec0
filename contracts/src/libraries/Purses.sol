// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice What few subscriptions have: money that is in no period, and the window before they opened anew.
/// @param changeTinybar value below the price of a period, or that waits because no further period is in reach, tinybar
/// @param refundTinybar cancelled balance not yet claimed, tinybar
/// @param closedAt end of the last window before the subscription opened anew, Unix seconds; it may still get late calls
/// @param closedUsed calls counted in that window
/// @param closedAllowed quota of that window
struct Purse {
    uint64 changeTinybar;
    uint64 refundTinybar;
    uint40 closedAt;
    uint32 closedUsed;
    uint32 closedAllowed;
}

/// @notice The purses of all agents in storage: one word each.
struct PurseBook {
    mapping(address agent => uint256 word) words;
}

using Purses for PurseBook global;

/// @title A second word for a subscription
/// @notice Zero for most, and written only when it changes.
library Purses {
    // change 64 | refund 64 | closedAt 36 | closedUsed 32 | closedAllowed 32
    uint256 private constant REFUND = 64;
    uint256 private constant CLOSED_AT = 128;
    uint256 private constant CLOSED_USED = 164;
    uint256 private constant CLOSED_ALLOWED = 196;
    uint256 private constant TIME_MASK = (1 << 36) - 1;

    /// @notice The agent's purse as stored.
    function load(PurseBook storage book, address agent) internal view returns (Purse memory purse) {
        uint256 word = book.words[agent];
        purse.changeTinybar = uint64(word);
        purse.refundTinybar = uint64(word >> REFUND);
        purse.closedAt = uint40((word >> CLOSED_AT) & TIME_MASK);
        purse.closedUsed = uint32(word >> CLOSED_USED);
        purse.closedAllowed = uint32(word >> CLOSED_ALLOWED);
    }

    /// @notice Stores the agent's purse.
    function keep(PurseBook storage book, address agent, Purse memory purse) internal {
        uint256 word = uint256(purse.changeTinybar) | uint256(purse.refundTinybar) << REFUND | uint256(purse.closedAt)
            << CLOSED_AT | uint256(purse.closedUsed) << CLOSED_USED | uint256(purse.closedAllowed) << CLOSED_ALLOWED;
        if (book.words[agent] != word) book.words[agent] = word;
    }
}
